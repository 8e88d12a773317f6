// SPDX-License-Identifier: GPL-2.0-only
/*
 * fakepci: software PCI Express host bridges. The hardware is a table; all that reads it is the
 * real PCI core, which publishes it in sysfs, binds drivers, handles AER, ASPM, MSI and removal as
 * it does for hardware.
 *
 * README.md describes the topology and the knobs.
 */
#include <linux/debugfs.h>
#include <linux/module.h>
#include <linux/pci.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>

#include "fakepci.h"

#define MAX_TEXT	SZ_256K

DEFINE_MUTEX(fakepci_mutex);
LIST_HEAD(fakepci_fns);
LIST_HEAD(fakepci_hosts);

static char *spec;
module_param(spec, charp, 0444);
MODULE_PARM_DESC(spec, "topology, lines separated by semicolons; started at once");

static struct dentry *dir;
static char *text;
static size_t text_len;
static bool started;

struct fakepci_fn *fakepci_find(u16 domain, u8 bus, u8 devfn)
{
	struct fakepci_fn *fn;

	list_for_each_entry(fn, &fakepci_fns, list)
		if (fn->bus == bus && fn->devfn == devfn && fn->domain == domain)
			return fn;
	return NULL;
}

/* The function behind a device, or NULL if the device is none of these. */
struct fakepci_fn *fakepci_of(struct pci_dev *pdev)
{
	if (pdev->bus->ops != &fakepci_ops)
		return NULL;
	return fakepci_find(pci_domain_nr(pdev->bus), pdev->bus->number, pdev->devfn);
}

/* The device of a function, to be put by the caller, or NULL. */
struct pci_dev *fakepci_dev(struct fakepci_fn *fn)
{
	return pci_get_domain_bus_and_slot(fn->domain, fn->bus, fn->devfn);
}

/*
 * A device can be on another node than its root bus: firmware's tables can say so, and so can node=
 * of a line. It must be set before a driver is probed, so also when the device comes back.
 */
static int on_bus_event(struct notifier_block *nb, unsigned long action, void *data)
{
	struct pci_dev *pdev = to_pci_dev(data);
	struct fakepci_fn *fn;

	if (action == BUS_NOTIFY_ADD_DEVICE) {
		fn = fakepci_of(pdev);
		if (fn && fn->has_node)
			set_dev_node(&pdev->dev, fn->node);
	}
	return NOTIFY_DONE;
}

static struct notifier_block notifier = { .notifier_call = on_bus_event };

/*
 * Reserves addresses for the base address registers of a root bus, above 4 GiB, where nothing is.
 * Alignment can double what a register needs on its way up through the bridges.
 */
static int reserve_window(struct fakepci_host *host)
{
	struct fakepci_fn *fn;
	u64 size = 0;

	list_for_each_entry(fn, &fakepci_fns, list)
		if (fn->host == host)
			size += 2 * (max_t(u64, fn->bar0, fn->bar0 ? SZ_1M : 0) +
				     (fn->irqs ? SZ_1M : 0));
	if (!size)
		return 0;
	size = roundup_pow_of_two(size);
	host->window.name = "fakepci window";
	host->window.flags = IORESOURCE_MEM | IORESOURCE_PREFETCH | IORESOURCE_MEM_64;
	return allocate_resource(&iomem_resource, &host->window, size, SZ_4G, iomem_resource.end,
				 size, NULL, NULL);
}

static int start_host(struct fakepci_host *host)
{
	struct pci_bus *child;
	LIST_HEAD(resources);
	int err;

	host->sysdata.node = host->node;
	err = reserve_window(host);
	if (err) {
		pr_err("fakepci: no room for the base address registers below %04x:%02x\n",
		       host->sysdata.domain, host->number);
		host->window.flags = 0;
		return err;
	}
	host->busn.name = "fakepci bus";
	host->busn.start = host->number;
	host->busn.end = host->subordinate;
	host->busn.flags = IORESOURCE_BUS;
	pci_add_resource(&resources, &host->busn);
	if (host->window.flags)
		pci_add_resource(&resources, &host->window);
	/* Without a parent, as the firmware's: /sys/devices/pciDDDD:BB. */
	host->bus = pci_create_root_bus(NULL, host->number, &fakepci_ops, &host->sysdata,
					&resources);
	if (!host->bus) {
		pci_free_resource_list(&resources);
		return -ENOMEM;
	}
	pci_scan_child_bus(host->bus);
	pci_assign_unassigned_bus_resources(host->bus);
	list_for_each_entry(child, &host->bus->children, node)
		pcie_bus_configure_settings(child);
	pci_bus_add_devices(host->bus);
	return 0;
}

static void stop(void)
{
	struct fakepci_host *host;

	pci_lock_rescan_remove();
	list_for_each_entry(host, &fakepci_hosts, list)
		if (host->bus) {
			pci_stop_root_bus(host->bus);
			pci_remove_root_bus(host->bus);
		}
	pci_unlock_rescan_remove();
	list_for_each_entry(host, &fakepci_hosts, list)
		if (host->window.parent)
			release_resource(&host->window);
	fakepci_free();
	started = false;
}

static int start(const char *topology)
{
	char *copy = kvmalloc(strlen(topology) + 1, GFP_KERNEL);
	struct fakepci_host *host;
	struct fakepci_fn *fn;
	int err;

	if (!copy)
		return -ENOMEM;
	strcpy(copy, topology);
	err = fakepci_parse(copy);
	kvfree(copy);
	if (err)
		return err;
	list_for_each_entry(fn, &fakepci_fns, list)
		fakepci_build(fn);
	list_for_each_entry(fn, &fakepci_fns, list)
		fakepci_presence(fn);
	pci_lock_rescan_remove();
	list_for_each_entry(host, &fakepci_hosts, list) {
		err = start_host(host);
		if (err)
			break;
	}
	pci_unlock_rescan_remove();
	started = true;
	if (err)
		stop();
	return err;
}

/* A long text comes in several writes, one after the other. */
static ssize_t topology_write(struct file *file, const char __user *from, size_t len, loff_t *pos)
{
	ssize_t done;

	mutex_lock(&fakepci_mutex);
	if (started) {
		done = -EBUSY;
	} else {
		if (!*pos)
			text_len = 0;
		done = simple_write_to_buffer(text, MAX_TEXT, pos, from, len);
		if (done > 0)
			text_len = *pos;
		else if (!done)
			done = -EFBIG;
		text[text_len] = 0;
	}
	mutex_unlock(&fakepci_mutex);
	return done;
}

static ssize_t topology_read(struct file *file, char __user *to, size_t len, loff_t *pos)
{
	return simple_read_from_buffer(to, len, pos, text, text_len);
}

static const struct file_operations topology_fops = {
	.owner = THIS_MODULE,
	.open = simple_open,
	.read = topology_read,
	.write = topology_write,
};

static ssize_t start_write(struct file *file, const char __user *from, size_t len, loff_t *pos)
{
	bool on;
	int err = kstrtobool_from_user(from, len, &on);

	if (err)
		return err;
	mutex_lock(&fakepci_mutex);
	if (on)
		err = started ? -EBUSY : start(text);
	else if (started)
		stop();
	mutex_unlock(&fakepci_mutex);
	return err ?: len;
}

static const struct file_operations start_fops = {
	.owner = THIS_MODULE,
	.open = simple_open,
	.write = start_write,
};

static int start_from_spec(void)
{
	char *c;

	if (!spec)
		return 0;
	text_len = min_t(size_t, strlen(spec), MAX_TEXT);
	memcpy(text, spec, text_len);
	for (c = text; *c; c++)
		if (*c == ';')
			*c = '\n';
	return start(text);
}

static int __init fakepci_init(void)
{
	int err;

	text = vzalloc(MAX_TEXT + 1);
	if (!text)
		return -ENOMEM;
	err = bus_register_notifier(&pci_bus_type, &notifier);
	if (err)
		goto free;
	err = fakepci_drivers_register();
	if (err)
		goto unnotify;
	err = start_from_spec();
	if (err)
		goto unregister;
	dir = debugfs_create_dir("fakepci", NULL);
	debugfs_create_file("topology", 0600, dir, NULL, &topology_fops);
	debugfs_create_file("start", 0200, dir, NULL, &start_fops);
	fakepci_knobs(dir);
	return 0;

unregister:
	fakepci_drivers_unregister();
unnotify:
	bus_unregister_notifier(&pci_bus_type, &notifier);
free:
	vfree(text);
	return err;
}

static void __exit fakepci_exit(void)
{
	debugfs_remove_recursive(dir);
	if (started)
		stop();
	fakepci_drivers_unregister();
	bus_unregister_notifier(&pci_bus_type, &notifier);
	vfree(text);
}

module_init(fakepci_init);
module_exit(fakepci_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Software PCI Express host bridges for fabricd's lab");
