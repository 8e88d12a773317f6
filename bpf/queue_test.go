// SPDX-License-Identifier: Apache-2.0

package bpf

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"github.com/fabricd/fabricd/bpf/bpftest"
)

// Nothing of the sampler is left in the kernel when its process is killed, its
// timer at work.
func TestKilled(t *testing.T) {
	const mark = "FABRICD_TEST_ARMED"
	if os.Getenv(mark) != "" {
		sampleForever(t)
		return
	}
	c := exec.Command("/proc/self/exe", "-test.run=^TestKilled$")
	c.Env = append(os.Environ(), mark+"=1")
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	defer c.Process.Kill() //nolint:errcheck // it has ended
	line, _ := bufio.NewReader(out).ReadString('\n')
	var program ebpf.ProgramID
	var timers ebpf.MapID
	if _, err := fmt.Sscanf(line, "loaded %d %d", &program, &timers); err != nil {
		bpftest.Skip(t, "it is not loaded: "+line)
	}
	there := func() bool {
		p, err := ebpf.NewProgramFromID(program)
		if err == nil {
			p.Close()
			return true
		}
		m, mapErr := ebpf.NewMapFromID(timers)
		if mapErr == nil {
			m.Close()
			return true
		}
		if errors.Is(err, fs.ErrPermission) {
			t.Skip("what is loaded is not told without CAP_SYS_ADMIN")
		}
		if !errors.Is(err, fs.ErrNotExist) || !errors.Is(mapErr, fs.ErrNotExist) {
			bpftest.Skip(t, err, mapErr)
		}
		return false
	}
	if !there() {
		t.Fatal("it is not loaded")
	}
	c.Process.Kill() //nolint:errcheck // it runs
	c.Wait()         //nolint:errcheck // killed
	for until := time.Now().Add(10 * time.Second); there(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(until) {
			t.Fatal("its program or timer is still loaded")
		}
	}
}

// sampleForever says what it loaded.
func sampleForever(t *testing.T) {
	sysfs, err := os.Open("/sys/class/net")
	if err != nil {
		t.Fatal(err)
	}
	q, err := OpenQueues(1, 1, sysfs, true)
	if err != nil {
		t.Fatal(err)
	}
	q.Slots[0].Device, q.Devices[0].Ifindex = 1, 1 // lo
	if err := q.Arm(time.Millisecond); err != nil {
		t.Fatal(err)
	}
	time.Sleep(50 * time.Millisecond)
	if q.Control.Ticks == 0 {
		t.Fatal("the timer does not tick")
	}
	program, err := q.objects.Programs[QueueProgArm].Info()
	if err != nil {
		t.Fatal(err)
	}
	timers, err := q.objects.Maps[QueueMapTimers].Info()
	if err != nil {
		t.Fatal(err)
	}
	programID, _ := program.ID()
	timersID, _ := timers.ID()
	fmt.Printf("loaded %d %d\n", programID, timersID)
	time.Sleep(time.Minute)
}
