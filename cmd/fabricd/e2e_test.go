// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/hex"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/tools/txtar"
)

// program builds the program as a user would run it.
func program(t testing.TB) string {
	t.Helper()
	p := filepath.Join(t.TempDir(), "fabricd")
	cmd := exec.Command("go", "build", "-o", p, ".")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return p
}

// unpack writes a recorded host's files below a directory, as a root file
// system that the daemon reads live.
func unpack(t testing.TB, name string) string {
	t.Helper()
	a, err := txtar.ParseFile(name)
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	for _, f := range a.Files {
		name, target, link := strings.Cut(f.Name, " -> ")
		data := f.Data
		if rest, ok := strings.CutSuffix(name, ".hex"); ok {
			if data, err = hex.DecodeString(strings.Join(strings.Fields(string(data)), "")); err != nil {
				t.Fatal(err)
			}
			name = rest
		}
		p := filepath.Join(root, name)
		err := os.MkdirAll(filepath.Dir(p), 0o755)
		if err == nil && link {
			err = os.Symlink(target, p)
		} else if err == nil {
			err = os.WriteFile(p, data, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// A daemon is a running fabricd.
type daemon struct {
	cmd    *exec.Cmd
	url    string
	stderr *buffer
	done   chan error
}

// A buffer takes a program's output while the test looks at it.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

func startDaemon(t *testing.T, program string, args ...string) *daemon {
	t.Helper()
	address := freePort(t)
	d := &daemon{url: "http://" + address, stderr: &buffer{}}
	d.cmd = exec.Command(program, append([]string{"run", "--web.listen-address=" + address}, args...)...)
	d.start(t)
	t.Cleanup(d.stop)
	return d
}

func (d *daemon) start(t *testing.T) {
	t.Helper()
	d.cmd.Stderr, d.done = d.stderr, make(chan error, 1)
	if err := d.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func(cmd *exec.Cmd, done chan<- error) { done <- cmd.Wait(); close(done) }(d.cmd, d.done)
	eventually(t, time.Minute, "ready", func() bool {
		if len(d.done) > 0 {
			t.Fatalf("ended at once: %s", d.stderr)
		}
		return d.get("/-/ready") == "fabricd is ready\n"
	})
}

func (d *daemon) stop() {
	d.cmd.Process.Kill()
	<-d.done
}

// restart starts the daemon anew, with the same arguments.
func (d *daemon) restart(t *testing.T) {
	t.Helper()
	d.stop()
	d.cmd = exec.Command(d.cmd.Path, d.cmd.Args[1:]...)
	d.start(t)
}

func (d *daemon) address() string { return strings.TrimPrefix(d.url, "http://") }

func (d *daemon) get(path string) string {
	resp, err := http.Get(d.url + path)
	if err != nil {
		return ""
	}
	defer resp.Body.Close()
	b, _ := io.ReadAll(resp.Body)
	return string(b)
}

func eventually(t *testing.T, patience time.Duration, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if is() {
			return
		}
	}
	t.Fatalf("not within %s: %s", patience, what)
}

// The daemon on a live tree: a device vanishes, the configuration changes, it
// ends cleanly.
func TestDaemon(t *testing.T) {
	root := unpack(t, hosts+"meta-8hca-downgraded.txtar")
	conf := filepath.Join(t.TempDir(), "fabricd.yaml")
	write := func(text string) {
		if err := os.WriteFile(conf, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("")
	p := program(t)
	d := startDaemon(t, p, "--path.rootfs="+root, "--config.file="+conf)
	has := func(line string) func() bool {
		return func() bool { return strings.Contains(d.get("/metrics"), line) }
	}
	if !has(`fabricd_pcie_link_transfers_per_second{address="0000:8d:00.0"} 8e+09`)() {
		t.Error("no reading of the slow link")
	}
	eventually(t, 10*time.Second, "pcie_speed fails", has(`fabricd_check_status{check="pcie_speed",subject="0000:8d:00.0/0000:8c:00.0/0000:8d:00.0/mlx5_6/ib4"} 3`))

	write("mute: [{check: pcie_speed, reason: known}, {check: pcie_budget, reason: known}]\n")
	d.cmd.Process.Signal(syscall.SIGHUP)
	eventually(t, 10*time.Second, "muted after SIGHUP", has(`fabricd_check_muted{check="pcie_speed"`))
	write("mute: 7\n")
	d.cmd.Process.Signal(syscall.SIGHUP)
	eventually(t, 10*time.Second, "a bad configuration is refused", func() bool { return strings.Contains(d.stderr.String(), "the old one stays in force") })
	if !has(`fabricd_check_muted{check="pcie_speed"`)() {
		t.Error("the bad configuration took the old one away")
	}

	gone := filepath.Join(root, "sys/bus/pci/devices/0000:94:00.0")
	device, err := filepath.EvalSymlinks(gone)
	if err != nil {
		t.Fatal(err)
	}
	os.Remove(gone)
	os.RemoveAll(device)
	write("") // the inventory is taken anew with the configuration
	d.cmd.Process.Signal(syscall.SIGHUP)
	eventually(t, 10*time.Second, "the vanished NIC is reported", func() bool {
		return strings.Contains(d.get("/metrics"), `fabricd_check_status{check="pcie_lost",subject="0000:94:00.0`) &&
			!strings.Contains(d.get("/metrics"), `fabricd_pcie_link_width_lanes{address="0000:94:00.0"}`)
	})

	if out, err := exec.Command(p, "run", "--path.rootfs="+root, "--web.listen-address="+d.address()).CombinedOutput(); exitStatus(err) != exitUsage || !strings.Contains(string(out), "address already in use") {
		t.Errorf("a second one at the same port: %v %s", err, out)
	}
	if out, err := exec.Command(p, "check", "--from", d.url).CombinedOutput(); exitStatus(err) != exitFail {
		t.Errorf("check --from: %v %s", err, out)
	}
	d.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case err := <-d.done:
		if err != nil {
			t.Errorf("ended with %v: %s", err, d.stderr)
		}
	case <-time.After(5 * time.Second):
		t.Error("does not end at SIGTERM")
	}
}

func exitStatus(err error) int {
	if e, ok := err.(*exec.ExitError); ok {
		return e.ExitCode()
	}
	return 0
}

// A driver that does not return while the inventory is taken, here a file
// that nobody writes to: the daemon answers all the same, says that it is not
// ready, and ends when it is told to.
func TestStuckInventory(t *testing.T) {
	root := unpack(t, hosts+"meta-8hca-good.txtar")
	speed, err := filepath.EvalSymlinks(filepath.Join(root, "sys/class/net/ib4"))
	if err != nil {
		t.Fatal(err)
	}
	speed = filepath.Join(speed, "speed")
	os.Remove(speed)
	if err := syscall.Mkfifo(speed, 0o644); err != nil {
		t.Fatal(err)
	}
	address := freePort(t)
	cmd := exec.Command(program(t), "run", "--web.listen-address="+address, "--path.rootfs="+root)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	defer cmd.Process.Kill()
	d := &daemon{url: "http://" + address}
	eventually(t, 10*time.Second, "alive", func() bool { return d.get("/-/healthy") == "fabricd is alive\n" })
	if got := d.get("/-/ready"); !strings.Contains(got, "not there yet") {
		t.Errorf("ready: %q", got)
	}
	if got := d.get("/metrics"); !strings.Contains(got, `fabricd_collector_up{collector="pcie"} 0`) {
		t.Errorf("no collector is down:\n%s", got)
	}
	cmd.Process.Signal(syscall.SIGHUP)
	cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-ended:
	case <-time.After(5 * time.Second):
		t.Error("does not end at SIGTERM")
	}
}
