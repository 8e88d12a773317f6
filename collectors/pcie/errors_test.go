// SPDX-License-Identifier: Apache-2.0

package pcie_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/fabricd/fabricd/collectors/internal/hosttest"
)

const (
	cor   = "aer_dev_correctable"
	non   = "aer_dev_nonfatal"
	fatal = "aer_dev_fatal"
	root  = "aer_rootport_total_err_"
)

// counted writes one of a function's files aer_dev_*: "BadTLP 3, Timeout 1".
func counted(d *hosttest.Dev, file, counts string) *hosttest.Dev {
	text, sum := "", 0
	for _, c := range strings.Split(counts, ", ") {
		n := 0
		if i := strings.LastIndexByte(c, ' '); i > 0 {
			if _, err := fmt.Sscan(c[i+1:], &n); err != nil {
				panic(err)
			}
		}
		text, sum = text+c+"\n", sum+n
	}
	name := map[string]string{cor: "COR", non: "NONFATAL", fatal: "FATAL"}[file]
	return d.Set(file, fmt.Sprintf("%sTOTAL_ERR_%s %d", text, name, sum))
}

// film plays a function's counts at 0 and at each minute.
func film(d *hosttest.Dev, step time.Duration, file string, counts ...string) {
	for i, c := range counts {
		if m := mark(step, i); m != "" {
			counted(d.At(m), file, c)
		} else {
			counted(d, file, c)
		}
	}
}

// silent gives both ends of the link counters of zero.
func silent(tb testing.TB) *host {
	h := oneNIC(tb)
	for _, address := range []string{nic, port} {
		for _, file := range []string{cor, non, fatal} {
			counted(h.Dev(address), file, "RxErr 0")
		}
	}
	return h
}

func TestAER(t *testing.T) {
	at := func(address, file string, counts ...string) func(*host) {
		return func(h *host) { film(h.Dev(address), time.Minute, file, counts...) }
	}
	run(t, silent, []row{
		{"no errors", func(h *host) { every(h, "1m") }, "expect: ok pcie_aer 0000:16:00.0\nexpect: ok pcie_aer 0000:15:01.0\nonly: yes"},
		{"no errors in a picture", nil, "expect: ok|unknown pcie_aer 0000:16:00.0\nonly: yes"},
		{"picture", at(nic, cor, "BadTLP 1000"), "expect: unknown pcie_aer 0000:16:00.0\nsays: BadTLP 1000\nonly: yes"},
		{"old errors", at(nic, cor, "BadTLP 1000", "BadTLP 1000"), "expect: info pcie_aer 0000:16:00.0\nsays: BadTLP 1000\nonly: yes"},
		{"old fatal errors", at(nic, fatal, "DLP 7", "DLP 7"), "expect: info pcie_aer 0000:16:00.0\nsays: DLP 7\nonly: yes"},
		{"burst", at(nic, cor, "BadTLP 10, Timeout 1", "BadTLP 60, Timeout 4"),
			"expect: warn pcie_aer 0000:16:00.0\nsays: BadTLP 50\nsays: Timeout 3\nsays: 0000:15:01.0\nsays: mlx5_0\nonly: yes"},
		{"burst at the port", at(port, cor, "BadDLLP 0", "BadDLLP 100"),
			"expect: warn pcie_aer 0000:15:01.0\nsays: BadDLLP 100\nsays: 0000:16:00.0 (mlx5_0)\nnever: warn pcie_aer 0000:16:00.0\nonly: yes"},
		{"as many as 32 GT/s excuse", at(nic, cor, "RxErr 0", "RxErr 4"), "expect: info pcie_aer 0000:16:00.0\nonly: yes"},
		{"one more", at(nic, cor, "RxErr 0", "RxErr 5"), "expect: warn pcie_aer 0000:16:00.0\nonly: yes"},
		{"slower link", func(h *host) {
			h.Dev(nic).PCIe("16x16")
			film(h.Dev(nic), time.Minute, cor, "RxErr 0", "RxErr 3")
		}, "expect: warn pcie_aer 0000:16:00.0\nonly: yes"},
		{"port above a slower link", func(h *host) {
			h.Dev(nic).PCIe("16x16")
			film(h.Dev(port), time.Minute, cor, "RxErr 0", "RxErr 3")
		}, "expect: warn pcie_aer 0000:15:01.0\nonly: yes"},
		{"port above a faster link than its own files say", func(h *host) {
			h.Dev(port).Set("current_link_speed", "2.5 GT/s PCIe")
			film(h.Dev(port), time.Minute, cor, "RxErr 0", "RxErr 4")
		}, "expect: info pcie_aer 0000:15:01.0\nonly: yes"},
		{"two in a second", func(h *host) { film(h.Dev(nic), time.Second, cor, "RxErr 0", "RxErr 2") }, "expect: info pcie_aer 0000:16:00.0\nonly: yes"},
		{"three in a second", func(h *host) { film(h.Dev(nic), time.Second, cor, "RxErr 0", "RxErr 3") }, "expect: warn pcie_aer 0000:16:00.0\nonly: yes"},
		{"three in an hour", func(h *host) { film(h.Dev(nic), time.Hour, cor, "RxErr 0", "RxErr 30") }, "expect: info pcie_aer 0000:16:00.0\nonly: yes"},
		{"nonfatal", at(nic, non, "CmpltTO 7", "CmpltTO 8"),
			"expect: fail pcie_aer 0000:16:00.0\nsays: 1 nonfatal\nsays: CmpltTO 1\nsays: 0000:15:01.0\nonly: yes"},
		{"fatal", at(nic, fatal, "MalfTLP 0", "MalfTLP 1"), "expect: fail pcie_aer 0000:16:00.0\nsays: MalfTLP 1\nonly: yes"},
		{"nonfatal and correctable", func(h *host) {
			film(h.Dev(nic), time.Minute, cor, "BadTLP 0", "BadTLP 500")
			film(h.Dev(nic), time.Minute, non, "CmpltTO 0", "CmpltTO 2")
		}, "expect: fail pcie_aer 0000:16:00.0\nsays: 2 nonfatal errors in 1m0s (CmpltTO 2)\nonly: yes"},
		{"nonfatal long ago in the film", at(nic, non, "CmpltTO 0", "CmpltTO 1", "CmpltTO 1", "CmpltTO 1"), "expect: fail|info pcie_aer 0000:16:00.0"},
		{"counters reset", at(nic, cor, "BadTLP 1000", "BadTLP 0"), "expect: ok pcie_aer 0000:16:00.0\nonly: yes"},
		{"counters reset, one old error of another kind", at(nic, cor, "BadTLP 1000, RxErr 0", "BadTLP 1, RxErr 0"), "expect: info pcie_aer 0000:16:00.0\nonly: yes"},
		{"counters reset and rising", at(nic, cor, "BadTLP 1000", "BadTLP 5", "BadTLP 105"), "expect: warn pcie_aer 0000:16:00.0\nsays: BadTLP 100\nonly: yes"},
		{"decreasing", at(nic, fatal, "DLP 9", "DLP 8", "DLP 7"), "expect: info pcie_aer 0000:16:00.0\nonly: yes"},
		{"a hole in between", func(h *host) {
			film(h.Dev(nic), time.Minute, cor, "BadTLP 0", "BadTLP 0", "BadTLP 100")
			for _, file := range []string{cor, non, fatal} {
				h.Dev(nic).At("1m0s").Fail(file, "EIO")
			}
			for _, file := range []string{non, fatal} {
				counted(h.Dev(nic).At("2m0s"), file, "DLP 0")
			}
		}, "expect: warn pcie_aer 0000:16:00.0\nsays: BadTLP 100\nonly: yes"},
		{"names of several words", func(h *host) {
			h.Dev(nic).Set(cor, "Receiver Error 0\nBad TLP 0\nTOTAL_ERR_COR 0").At("1m").Set(cor, "Receiver Error 2\nBad TLP 40\nTOTAL_ERR_COR 42")
		}, "expect: warn pcie_aer 0000:16:00.0\nsays: Bad TLP 40\nonly: yes"},
		{"total smaller than the sum", func(h *host) {
			h.Dev(nic).Set(cor, "RxErr 0\nTOTAL_ERR_COR 0").At("1m").Set(cor, "RxErr 40\nBadTLP 30\nTOTAL_ERR_COR 0")
		}, "expect: warn pcie_aer 0000:16:00.0\nsays: 70\nonly: yes"},
		{"no total", func(h *host) { h.Dev(nic).Set(cor, "RxErr 0").At("1m").Set(cor, "RxErr 40") }, "expect: warn pcie_aer 0000:16:00.0\nonly: yes"},
		{"total alone", func(h *host) { h.Dev(nic).Set(cor, "TOTAL_ERR_COR 0").At("1m").Set(cor, "TOTAL_ERR_COR 40") },
			"expect: warn pcie_aer 0000:16:00.0\nsays: names not told\nonly: yes"},
		{"nonsense", func(h *host) { h.Dev(nic).Set(cor, "RxErr\nBadTLP -4\n7\n\nTimeout 99999999999999999999999") }, "expect: ok|unknown pcie_aer 0000:16:00.0\nonly: yes"},
		{"a name twice", func(h *host) { h.Dev(nic).Set(cor, "RxErr 1\nRxErr 2"); every(h, "1m") }, "expect: info pcie_aer 0000:16:00.0\nsays: RxErr 3\nonly: yes"},
		{"no counters", func(h *host) { h.Dev(nic).Drop(cor, non, fatal); every(h, "1m") },
			"expect: unknown pcie_aer 0000:16:00.0\nnever: ok pcie_aer 0000:16:00.0\nonly: yes"},
		{"no counters at the port", func(h *host) { h.Dev(port).Drop(cor, non, fatal); every(h, "1m") },
			"never: ok|info|warn|fail|unknown pcie_aer 0000:15:01.0\nonly: yes"},
		{"guest", func(h *host) { h.Guest(); h.Dev(nic).Drop(cor, non, fatal); every(h, "1m") },
			"expect: unknown pcie_aer 0000:16:00.0\nsays: virtual machine\nonly: yes"},
		{"disk", func(h *host) {
			h.Port("0000:20:01.0", "", "32x4")
			d := h.Add("0000:21:00.0", "0000:20:01.0", "010802", "144d:a80c", "32x4")
			film(d, time.Minute, non, "CmpltTO 0", "CmpltTO 1")
		}, "expect: fail pcie_aer 0000:21:00.0\nonly: yes"},
		{"limits of the operator", func(h *host) {
			film(h.Dev(nic), time.Minute, cor, "RxErr 0", "RxErr 30")
			h.Set("fabricd.yaml", "thresholds: {pcie_aer: {per_minute: 1}}")
		}, "expect: info pcie_aer 0000:16:00.0\nonly: yes"},
		{"least of the operator", func(h *host) {
			film(h.Dev(nic), time.Minute, cor, "RxErr 0", "RxErr 30")
			h.Set("fabricd.yaml", "thresholds: {pcie_aer: {least: 31}}")
		}, "expect: info pcie_aer 0000:16:00.0\nonly: yes"},
	})
	run(t, recorded("025c-old-correctable-errors-stand-still"), []row{
		{"nonfatal ones", func(h *host) { counted(h.Dev("0000:07:00.0").At("30s"), non, "CmpltTO 1") },
			"expect: fail pcie_aer 0000:07:00.0\nsays: CmpltTO\nsays: 0000:00:03.1\nexpect: info pcie_aer 0000:00:03.1\nonly: yes"},
		{"none at all", func(h *host) {
			for _, address := range []string{"0000:00:03.1", "0000:07:00.0"} {
				counted(h.Dev(address), cor, "BadTLP 0")
			}
		}, "expect: ok pcie_aer 0000:00:03.1\nonly: yes"},
	})
}

func TestAERRootPort(t *testing.T) {
	// totals plays a root port's totals of one severity.
	totals := func(severity string, counts ...string) func(*host) {
		return func(h *host) {
			for _, s := range []string{"cor", "nonfatal", "fatal"} {
				h.Dev(port).Set(root+s, "0")
			}
			for i, c := range counts {
				if m := mark(time.Minute, i); m != "" {
					h.Dev(port).At(m).Set(root+severity, c)
				} else {
					h.Dev(port).Set(root+severity, c)
				}
			}
		}
	}
	run(t, silent, []row{
		{"still", totals("cor", "5", "5"), "expect: info pcie_aer 0000:15:01.0\nonly: yes"},
		{"zero", totals("cor", "0", "0"), "expect: ok pcie_aer 0000:15:01.0\nonly: yes"},
		{"picture", totals("fatal", "5"), "expect: unknown pcie_aer 0000:15:01.0\nonly: yes"},
		{"growing alone", totals("cor", "0", "100"), "expect: warn pcie_aer 0000:15:01.0\nsays: source unknown\nsays: 100\nonly: yes"},
		{"a few", totals("cor", "0", "4"), "expect: info pcie_aer 0000:15:01.0\nonly: yes"},
		{"nonfatal", totals("nonfatal", "0", "1"), "expect: fail pcie_aer 0000:15:01.0\nsays: source unknown\nonly: yes"},
		{"fatal", totals("fatal", "3", "4"), "expect: fail pcie_aer 0000:15:01.0\nsays: source unknown\nonly: yes"},
		{"reset", totals("fatal", "3", "0"), "expect: ok pcie_aer 0000:15:01.0\nonly: yes"},
		{"with what is below it", func(h *host) {
			totals("cor", "0", "100")(h)
			film(h.Dev(nic), time.Minute, cor, "RxErr 0", "RxErr 100")
		}, "expect: warn pcie_aer 0000:16:00.0\nnever: warn|fail pcie_aer 0000:15:01.0\nonly: yes"},
		{"with its own", func(h *host) {
			totals("nonfatal", "0", "1")(h)
			film(h.Dev(port), time.Minute, non, "DLP 0", "DLP 1")
		}, "expect: fail pcie_aer 0000:15:01.0\nsays: DLP 1\nonly: yes"},
		{"no other counters", func(h *host) {
			h.Dev(port).Drop(cor, non, fatal)
			h.Dev(nic).Drop(cor, non, fatal)
			totals("nonfatal", "0", "1")(h)
		}, "expect: fail pcie_aer 0000:15:01.0\nonly: yes"},
		{"nonsense", totals("fatal", "3", "many"), "expect: ok|info|unknown pcie_aer 0000:15:01.0\nonly: yes"},
	})
}
