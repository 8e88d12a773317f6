// SPDX-License-Identifier: Apache-2.0

package lab

import "fmt"

// The guest has a processor on each of its two nodes, of the same number.

// placementScenarios are those of what runs where: programs, interrupts, and what NVIDIA's driver would tell.
func placementScenarios() []Scenario {
	return []Scenario{
		{
			Name: "numa-run", About: "nothing: fabricd numa run on two nodes, read back from the kernel", Nodes: 2, Tree: server(0, 1).RDMA(400),
			Steps: []Step{{Name: "bound", Do: []Action{
				ranOn("--gpu "+firstGPU, 0, "prefer:0"), ranOn("--gpu "+distantGPU+" --strict", 1, "bind:1"),
				ranOn("--nic "+distantNIC, 1, "prefer:1"), ranOn("--nic mlx5_0", 0, "prefer:0"), ranOn("--node 1 --strict", 1, "bind:1"),
				Run("fabricd numa run --node 2 -- true; [ $? = 125 ]"), Run("fabricd numa run --node 1 -- nosuch; [ $? = 127 ]"),
				Run("fabricd numa run --node 1 -- /bin; [ $? = 126 ]"), Run("fabricd numa run --node 1 -- sh -c 'kill -TERM $$'; [ $? = 143 ]"),
				Run("fabricd numa run --node 0 -- fabricd numa run --node 1 -- true; [ $? = 125 ]"), // its starter left it node 0 alone
				Run("fabricd numa show | grep -q '^node 1  socket 1  CPUs 1 '"),
			}, Want: bareMetal(Say("ok numa_disabled *"))}},
		},
		{
			Name: "gpu-process", About: "a process on a GPU runs on the other node and has its memory there", Nodes: 2, Tree: server(0, 1),
			Steps: []Step{
				{Name: "at home", Do: []Action{computes(firstGPU, "--gpu "+firstGPU)}, Want: bareMetal(Say("ok gpu_process "+firstGPU, "node 0"))},
				{Name: "bound away", Do: []Action{computes(firstGPU, "--node 1 --strict")},
					Want: bareMetal(Say("warn gpu_process "+firstGPU, "may run only on CPUs 1 (node 1)", "on nodes of another socket"))},
				{Name: "that node's own", Do: []Action{computes(distantGPU, "--node 1 --strict")}, Want: bareMetal(Say("ok gpu_process "+distantGPU, "node 1"))},
			},
		},
		machine(Scenario{
			Name: "nic-irq", About: "a NIC's interrupts are sent to the other node",
			Steps: []Step{
				{Name: "at home", Do: []Action{Run(broadcasts), interruptsTo(qemuVirtio, 1), interruptsTo(qemuSwitchNIC, 0)},
					Want: bareMetal(Say("ok|info nic_irq " + qemuVirtio))},
				{Name: "moved", Do: []Action{interruptsTo(qemuVirtio, 0)},
					Want: bareMetal(Say("warn nic_irq "+qemuVirtio, "of another node than the NIC's (1)", "to CPU 0"))},
			},
		}),
		{
			Name: "gdr-acs", About: "a switch's port redirects what a NIC wants of a GPU's memory", Nodes: 2, Tree: onlyQuarter().RDMA(400),
			Steps: []Step{
				{Name: "no driver", Want: bareMetal(Say("unknown gdr "+firstGPU, "not loaded or not visible"))},
				{Name: "peer memory", Do: []Action{Run(peerMemory)}, Want: bareMetal(Say("ok gdr "+firstGPU, "peer memory", "nv_mem"))},
				{Name: "redirect", Do: []Action{Knob("acs", gpuPort+" 1d")}, Want: bareMetal(
					Say("info gdr "+firstGPU, "ACS redirects at "+gpuPort, "pcie_acs"), Say("fail pcie_acs "+firstGPU, firstNIC, gpuPort), Say("fail pcie_acs "+firstGPU, secondNIC), Say("ok gdr "+secondGPU))},
			},
		},
	}
}

// ranOn has fabricd run a program, and the kernel tell where it may run and what its memory's policy is.
func ranOn(flags string, cpu int, policy string) Action {
	return Run(fmt.Sprintf(`fabricd numa run %s -- sh -c 'grep -q "^Cpus_allowed_list:.%d$" /proc/self/status && grep -q " %s " /proc/self/numa_maps'`, flags, cpu, policy))
}

// computes lets a process be what NVIDIA's driver, whose child a script plays, says to compute on a GPU: with 24 MB of memory, placed
// by fabricd numa run.
func computes(gpu, flags string) Action {
	return Run(fmt.Sprintf(`set -e
rm -f /tmp/nobody
mknod /tmp/nobody p
sleep 1000 < /tmp/nobody &
fabricd numa run %s -- dd if=/dev/zero bs=24000000 count=1 of=/tmp/nobody >/dev/null 2>&1 &
pid=$!
cat > /bin/fabricd-nvml <<END
#!/bin/sh
echo '{"ready": {"protocol": 1, "driver_version": "1"}}'
n=1
while read -r line; do
	echo '{"id": '\$n', "snapshot": {"devices": [{"index": 0, "name": "Lab", "pci_bus_id": "%s", "utilization_gpu": 50, "processes": [{"pid": '$pid'}]}]}}'
	n=\$((n + 1))
done
END
chmod 755 /bin/fabricd-nvml
while kill -0 $pid && [ "$(awk '/^Name/ {dd = $2 == "dd"} /^VmRSS/ {print (dd && $2 > 23000)}' /proc/$pid/status)" != 1 ]; do usleep 50000; done`, flags, gpu))
}

// peerMemory is what a kernel with OFED's core and NVIDIA's driver shows of it.
const peerMemory = `set -e
mount -t tmpfs none /proc/driver
mkdir /proc/driver/nvidia
echo 'NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.95.05  Release Build' > /proc/driver/nvidia/version
mount -t tmpfs none /sys/kernel/mm
mkdir -p /sys/kernel/mm/memory_peers/nv_mem
echo 1.2 > /sys/kernel/mm/memory_peers/nv_mem/version`

// broadcasts has the NIC on node 0 send 200 frames a second, which the virtio NIC on node 1 hears.
const broadcasts = `set -e
out=$(ls /sys/bus/pci/devices/` + qemuSwitchNIC + `/net)
in=$(basename /sys/bus/pci/devices/` + qemuVirtio + `/virtio*/net/*)
ip link set $in up
ip link set $out up
ip addr add 10.9.0.1/24 broadcast 10.9.0.255 dev $out
ping -i 0.005 10.9.0.255 >/dev/null 2>&1 &`

// interruptsTo sends a NIC's interrupts to a processor.
func interruptsTo(address string, cpu int) Action {
	return Run(fmt.Sprintf("for i in /sys/bus/pci/devices/%s/msi_irqs/*; do echo %d > /proc/irq/${i##*/}/smp_affinity_list || true; done", address, cpu))
}
