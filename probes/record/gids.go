// SPDX-License-Identifier: Apache-2.0

package record

import (
	"bytes"
	"path"
	"strconv"

	"github.com/fabricd/fabricd/probes/rdma"
)

// gids asks for the tables of GIDs of a device's ports.
func (w *walk) gids(ports string) {
	names, err := w.host.ReadDir(ports)
	if err != nil {
		return
	}
	for _, port := range names {
		w.table(path.Join(ports, port))
	}
}

// table asks for one. Of a live port's only the slots that are read and hold
// something are taken, and the first one, so that there is a table: soft-RoCE
// has a thousand slots, and one that is not there is as empty.
func (w *walk) table(port string) {
	if w.ctx.Err() != nil {
		return
	}
	gids := path.Join(port, "gids")
	d := w.open(gids)
	if d == nil {
		return
	}
	defer d.Close()
	var taken []string
	for _, slot := range w.list(d, gids) {
		if n, err := strconv.Atoi(slot); (err != nil || n >= rdma.MaxGIDs) && !w.host.Recorded() {
			continue
		}
		w.file(d, gids, slot, false)
		if name := path.Join(gids, slot); slot != "0" && empty(w.now.entries[name]) && !w.host.Recorded() {
			delete(w.now.entries, name)
			continue
		}
		taken = append(taken, slot)
	}
	for _, name := range []string{"gid_attrs/types", "gid_attrs/ndevs"} {
		w.files(path.Join(port, name), taken)
	}
}

// empty says whether a slot could be read and holds no GID.
func empty(e entry) bool { return e.errno == "" && len(bytes.Trim(e.data, "0:\n")) == 0 }

func (w *walk) files(dir string, names []string) {
	d := w.open(dir)
	if d == nil {
		return
	}
	defer d.Close()
	for _, name := range names {
		w.file(d, dir, name, false)
	}
}
