// SPDX-License-Identifier: Apache-2.0

package image

import (
	"bytes"
	"encoding/binary"
	"os/exec"
	"strings"
	"testing"
)

func TestArchive(t *testing.T) {
	cpio, err := exec.LookPath("busybox")
	if err != nil {
		cpio, err = exec.LookPath("cpio")
	}
	var a archive
	a.file("lib/a/file", []byte("text"), 0o644)
	a.link("bin/sh", "dash")
	a.file("lib/a/file", []byte("again"), 0o644)
	b := a.bytes()
	if len(b)%512 != 0 || !bytes.HasPrefix(b, []byte("070701")) || bytes.Contains(b, []byte("again")) {
		t.Errorf("no archive, or one with a file twice: %q", b)
	}
	if err != nil {
		t.Skip("no cpio to read it with; the kernel does in the lab")
	}
	args := []string{"-it"}
	if strings.HasSuffix(cpio, "busybox") {
		args = []string{"cpio", "-it"}
	}
	c := exec.Command(cpio, args...)
	c.Stdin = bytes.NewReader(b)
	out, err := c.Output()
	if got, want := strings.Fields(string(out)), "lib lib/a lib/a/file bin bin/sh"; err != nil || strings.Join(got, " ") != want {
		t.Errorf("cpio lists %q (%v), want %s", got, err, want)
	}
}

func TestUnpackKernel(t *testing.T) {
	gzip, err := exec.LookPath("gzip")
	if err != nil {
		t.Skip(err)
	}
	c := exec.Command(gzip, "-c")
	c.Stdin = strings.NewReader("\x7fELF and more")
	packed, err := c.Output()
	if err != nil {
		t.Fatal(err)
	}
	image := make([]byte, 1024)
	image[setupSectors] = 1
	binary.LittleEndian.PutUint32(image[payloadLength:], uint32(len(packed)+4))
	image = append(append(image, packed...), 12, 0, 0, 0)
	if got := string(unpackKernel(t.Context(), image)); got != "\x7fELF and more" {
		t.Errorf("unpacked to %q", got)
	}
	for _, bad := range [][]byte{nil, make([]byte, 1024), image[:1100][:1030]} {
		if got := unpackKernel(t.Context(), bad); got != nil {
			t.Errorf("%d bytes that are no kernel unpack to %q", len(bad), got)
		}
	}
}

func TestModuleName(t *testing.T) {
	for file, want := range map[string]string{"a/b/virtio-pci.ko": "virtio_pci", "igb.ko.xz": "igb", "modules.dep": "modules.dep"} {
		if got := moduleName(file); got != want {
			t.Errorf("%s is %s, want %s", file, got, want)
		}
	}
}
