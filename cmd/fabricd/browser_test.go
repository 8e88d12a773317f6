// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// The page in a real browser: what axe-core has to say of it, that it fits a
// telephone and a sheet of paper, and that it tells by itself of a link that trains down.
func TestPageInBrowser(t *testing.T) {
	node, chromium := need(t, "NODE", "node"), need(t, "CHROMIUM", "chromium")
	const tools = "../../tools/browser"
	if _, err := os.Stat(tools + "/node_modules"); err != nil {
		npm := exec.Command(need(t, "NPM", "npm"), "ci", "--no-audit", "--no-fund", "--silent")
		npm.Dir = tools
		if out, err := npm.CombinedOutput(); err != nil {
			t.Fatalf("npm ci: %v: %s", err, out)
		}
	}
	root := unpack(t, hosts+"hgx-h100-8gpu.txtar")
	d := startDaemon(t, program(t), "--path.rootfs="+root)
	slow := startDaemon(t, program(t), "--path.rootfs="+unpack(t, hosts+"meta-8hca-downgraded.txtar"), "--no-collector.roce")
	fleet := t.TempDir()
	for _, name := range []string{"hgx-h100-8gpu", "meta-8hca-downgraded"} {
		recording, err := filepath.Abs(hosts + name + ".txtar")
		if err == nil {
			err = os.Symlink(recording, filepath.Join(fleet, name+".txtar"))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	list := startDaemon(t, program(t), "--fleet="+fleet)
	cmd := exec.Command(node, tools+"/page.mjs", d.url, slow.url, list.url+"/", root+"/sys/bus/pci/devices/0000:19:00.0/current_link_width", "8", "pcie_width", os.Getenv("FABRICD_PAGES"))
	cmd.Env = append(os.Environ(), "CHROMIUM="+chromium)
	out, err := cmd.CombinedOutput()
	t.Logf("%s", out)
	if err != nil {
		t.Error(err)
	}
}
