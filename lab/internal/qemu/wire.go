// SPDX-License-Identifier: Apache-2.0

package qemu

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"slices"
	"sync"
	"time"
)

// mostFrames bounds how many frames of the guest's a wire keeps: the newest.
const mostFrames = 1000

// A Wire is the other end of one of the guest's network devices: a switch's port, of which we are the switch.
type Wire struct {
	listener net.Listener
	mu       sync.Mutex
	conn     net.Conn
	received [][]byte

	speaking  sync.Mutex
	announced []byte // sent every second
}

// newWire waits in the background for QEMU to plug in.
func newWire(socket string) (*Wire, error) {
	listener, err := net.Listen("unix", socket)
	if err != nil {
		return nil, err
	}
	w := &Wire{listener: listener}
	go w.serve()
	return w, nil
}

// serve takes QEMU's connection and keeps what the guest sends. On the connection a frame follows its length, in four bytes.
func (w *Wire) serve() {
	conn, err := w.listener.Accept()
	if err != nil {
		return
	}
	w.mu.Lock()
	w.conn = conn
	w.mu.Unlock()
	gone := make(chan struct{})
	defer close(gone)
	go w.announce(gone)
	for {
		var length [4]byte
		if _, err := io.ReadFull(conn, length[:]); err != nil {
			return
		}
		frame := make([]byte, binary.BigEndian.Uint32(length[:])&0xffff)
		if _, err := io.ReadFull(conn, frame); err != nil {
			return
		}
		w.mu.Lock()
		w.received = append(w.received, frame)
		w.received = w.received[max(0, len(w.received)-mostFrames):]
		w.mu.Unlock()
	}
}

// sendLimit bounds how long a guest may take to accept a frame.
const sendLimit = 10 * time.Second

// Send sends a frame to the guest: from the destination's address on, without a checksum.
func (w *Wire) Send(frame []byte) error {
	w.mu.Lock()
	conn := w.conn
	w.mu.Unlock()
	if conn == nil {
		return errors.New("wire: QEMU is not connected")
	}
	if err := conn.SetWriteDeadline(time.Now().Add(sendLimit)); err != nil {
		return err
	}
	_, err := conn.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(frame))), frame...))
	return err
}

// Announce sends a frame now and every second from now on, in the place of what was sent so before; nil ends that. What
// was sent before does not follow it.
func (w *Wire) Announce(frame []byte) error {
	w.speaking.Lock()
	defer w.speaking.Unlock()
	w.announced = frame
	return w.speak()
}

// speak sends what is announced.
func (w *Wire) speak() error {
	if w.announced == nil {
		return nil
	}
	return w.Send(w.announced)
}

// announce speaks every second until the guest is gone.
func (w *Wire) announce(gone <-chan struct{}) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-gone:
			return
		case <-tick.C:
			w.speaking.Lock()
			_ = w.speak() // a guest that is short of time hears the next one
			w.speaking.Unlock()
		}
	}
}

// Received returns the newest frames that the guest sent.
func (w *Wire) Received() [][]byte {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.received)
}

func (w *Wire) close() {
	w.listener.Close()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.conn != nil {
		w.conn.Close()
	}
}
