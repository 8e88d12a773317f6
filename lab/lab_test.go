// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"errors"
	"flag"
	"os"
	"testing"
)

var (
	labFlag = flag.Bool("lab", os.Getenv("LAB") == "1", "boot the lab's machines (or LAB=1)")
	keep    = flag.String("keep", "", "write the recordings of all steps into this folder")
	suite   = flag.String("suite", "", "take the kernel from this suite, such as bookworm-backports, instead of the machine's own")
	times   = flag.Int("times", 1, "run each scenario so often, and none once more because it failed")
)

func TestScenarios(t *testing.T) {
	if !*labFlag {
		t.Skip("boots machines: make lab, or go test ./lab -lab")
	}
	bench, err := NewBench(t.Context(), "..", *suite, t.Logf)
	if errors.Is(err, ErrUnavailable) && os.Getenv("CI") != "true" {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		bench.Close()
		t.Logf("%d machines, %d scenarios were run once more because they had failed", bench.machines.Load(), bench.again.Load())
	})
	t.Logf("kernel %s", bench.Release())
	for _, s := range Scenarios() {
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			failed := 0
			for range *times {
				if err := bench.Run(t.Context(), &s, *times == 1, *keep, t.Logf); err != nil {
					failed++
					t.Error(err)
				}
			}
			if *times > 1 {
				t.Logf("%d of %d runs passed", *times-failed, *times)
			}
		})
	}
}
