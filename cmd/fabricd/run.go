// SPDX-License-Identifier: Apache-2.0

package main

func (a *app) runCommand() {
	a.command("run", "Run the daemon.", func() error { return nil }).Default()
}
