// SPDX-License-Identifier: Apache-2.0

package qemu

import (
	"bytes"
	"io"
	"net"
	"path/filepath"
	"testing"
	"time"
)

// A wire speaks as QEMU does: a frame follows its length.
func TestWire(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "wire")
	w, err := newWire(socket)
	if err != nil {
		t.Fatal(err)
	}
	defer w.close()
	if err := w.Send([]byte("early")); err == nil {
		t.Error("a frame was sent to nobody")
	}
	guest, err := net.Dial("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer guest.Close()
	if _, err := guest.Write([]byte("\x00\x00\x00\x03one\x00\x00\x00\x03two\x00\x00\x00\x09cut")); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(10 * time.Second); len(w.Received()) < 2 && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond)
	}
	if got := bytes.Join(w.Received(), []byte(" ")); string(got) != "one two" {
		t.Errorf("received %q", got)
	}
	if err := w.Send([]byte("frame")); err != nil {
		t.Fatal(err)
	}
	if err := w.Announce([]byte("again")); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, 27)
	if _, err := io.ReadFull(guest, got); err != nil || string(got) != "\x00\x00\x00\x05frame\x00\x00\x00\x05again\x00\x00\x00\x05again" {
		t.Errorf("the guest got %q, %v", got, err)
	}
}
