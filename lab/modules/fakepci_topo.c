// SPDX-License-Identifier: GPL-2.0-only
/*
 * The topology: its text, one line for each function, parents before children, and the bus numbers
 * that follow from it.
 */
#include <linux/netdevice.h>
#include <linux/nodemask.h>
#include <linux/pci.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "fakepci.h"

#define FAIL(fmt, ...) ({ pr_err("fakepci: " fmt "\n", ##__VA_ARGS__); -EINVAL; })

int fakepci_parse_address(const char *s, u16 *domain, u8 *bus, u8 *devfn)
{
	unsigned int dom, b, d, f;
	char end;

	if (sscanf(s, "%x:%x:%x.%x%c", &dom, &b, &d, &f, &end) != 4 || dom > 0xffff || b > 0xff ||
	    d > 31 || f > 7)
		return -EINVAL;
	*domain = dom;
	*bus = b;
	*devfn = PCI_DEVFN(d, f);
	return 0;
}

static int parse_kind(const char *s, enum fakepci_kind *kind)
{
	static const char *const names[] = {
		[FAKEPCI_ROOT] = "root",
		[FAKEPCI_UP] = "up",
		[FAKEPCI_DOWN] = "down",
		[FAKEPCI_EP] = "ep",
		[FAKEPCI_RCIEP] = "rciep",
	};
	int i = match_string(names, ARRAY_SIZE(names), s);

	if (i < 0)
		return FAIL("unknown kind %s", s);
	*kind = i;
	return 0;
}

static int parse_pair(const char *s, u16 *vendor, u16 *device)
{
	unsigned int v, d;

	if (sscanf(s, "%x:%x", &v, &d) != 2 || v > 0xffff || d > 0xffff)
		return FAIL("%s is not VENDOR:DEVICE", s);
	*vendor = v;
	*device = d;
	return 0;
}

/* NAME,SPEED with the speed in Mb/s */
static int parse_netdev(struct fakepci_fn *fn, char *s)
{
	struct fakepci_netdev *nd = &fn->netdev[fn->netdevs];
	char *name = strsep(&s, ",");

	if (fn->netdevs == FAKEPCI_MAX_PORTS)
		return FAIL("more than %d netdevs", FAKEPCI_MAX_PORTS);
	if (!s || kstrtou32(s, 10, &nd->speed) || strscpy(nd->name, name, sizeof(nd->name)) <= 0)
		return FAIL("netdev is not NAME,SPEED");
	fn->netdevs++;
	return 0;
}

/* NAME,RATE,ib|eth[,PORTS] with the rate in Gb/s */
static int parse_rdma(struct fakepci_fn *fn, char *s)
{
	char *name = strsep(&s, ","), *rate = strsep(&s, ","), *layer = strsep(&s, ",");
	struct fakepci_rdma *r = &fn->rdma;

	r->ports = 1;
	if (!layer || kstrtou32(rate, 10, &r->rate) ||
	    strscpy(r->name, name, sizeof(r->name)) <= 0 || (s && kstrtouint(s, 10, &r->ports)) ||
	    !r->ports || r->ports > FAKEPCI_MAX_PORTS)
		return FAIL("rdma is not NAME,RATE,ib|eth[,PORTS]");
	r->ethernet = !strcmp(layer, "eth");
	if (!r->ethernet && strcmp(layer, "ib"))
		return FAIL("link layer %s", layer);
	return 0;
}

static int parse_aspm(const char *s, u8 *aspm)
{
	if (!strcmp(s, "0"))
		*aspm = 0;
	else if (!strcmp(s, "L0s"))
		*aspm = PCI_EXP_LNKCTL_ASPM_L0S;
	else if (!strcmp(s, "L1"))
		*aspm = PCI_EXP_LNKCTL_ASPM_L1;
	else
		return FAIL("aspm %s", s);
	return 0;
}

/* Words in place of a value: the capability is not there, no driver binds. */
static bool parse_absence(struct fakepci_fn *fn, const char *key, const char *value)
{
	if (strcmp(value, "none"))
		return false;
	if (!strcmp(key, "acs"))
		fn->has_acs = false;
	else if (!strcmp(key, "aer"))
		fn->has_aer = false;
	else if (!strcmp(key, "driver"))
		fn->no_driver = true;
	else
		return false;
	return true;
}

static int parse_text(struct fakepci_fn *fn, const char *key, char *value)
{
	if (!strcmp(key, "netdev"))
		return parse_netdev(fn, value);
	if (!strcmp(key, "rdma"))
		return parse_rdma(fn, value);
	if (!strcmp(key, "subsys"))
		return parse_pair(value, &fn->subvendor, &fn->subdevice);
	if (!strcmp(key, "aspm"))
		return parse_aspm(value, &fn->aspm);
	if (!strcmp(key, "acs")) {
		if (kstrtou16(value, 16, &fn->acs))
			return FAIL("acs=%s is not a hexadecimal number", value);
		return 0;
	}
	return -ENOENT;
}

static int parse_attribute(struct fakepci_fn *fn, char *word)
{
	char *key = strsep(&word, "="), *value = word, *end;
	unsigned long long n;
	int err;

	if (!value)
		return FAIL("%s is not KEY=VALUE", key);
	if (parse_absence(fn, key, value))
		return 0;
	err = parse_text(fn, key, value);
	if (err != -ENOENT)
		return err;
	if (!strcmp(key, "node")) {
		fn->has_node = true;
		if (kstrtoint(value, 10, &fn->node) || fn->node < NUMA_NO_NODE ||
		    fn->node >= MAX_NUMNODES || (fn->node >= 0 && !node_online(fn->node)))
			return FAIL("no node %s", value);
		return 0;
	}
	n = memparse(value, &end);
	if (end == value || *end)
		return FAIL("%s=%s is not a number", key, value);
	if (!strcmp(key, "maxspeed") && n <= 6)
		fn->max_speed = n;
	else if (!strcmp(key, "maxwidth") && n <= 32)
		fn->max_width = n;
	else if (!strcmp(key, "curspeed") && n <= 6)
		fn->cur_speed = n;
	else if (!strcmp(key, "curwidth") && n <= 32)
		fn->cur_width = n;
	else if (!strcmp(key, "target") && n <= 6)
		fn->target = n;
	else if (!strcmp(key, "mps") && is_power_of_2(n) && n >= 128 && n <= 4096)
		fn->mps = n;
	else if (!strcmp(key, "mrrs") && is_power_of_2(n) && n >= 128 && n <= 4096)
		fn->mrrs = n;
	else if (!strcmp(key, "ro") && n <= 1)
		fn->relaxed = n;
	else if (!strcmp(key, "bar0") && (!n || (is_power_of_2(n) && n >= SZ_4K)))
		fn->bar0 = n;
	else if (!strcmp(key, "irqs") && n <= 64)
		fn->irqs = n;
	else if (!strcmp(key, "vfs") && n <= 62 && fn->kind == FAKEPCI_EP)
		fn->vfs = n;
	else if (!strcmp(key, "card"))
		fn->card = n;
	else if (!strcmp(key, "bus") && n <= 255)
		fn->secondary = n;
	else
		return FAIL("attribute %s=%s", key, value);
	return 0;
}

static struct fakepci_host *host_for(struct fakepci_fn *fn)
{
	struct fakepci_host *host;

	list_for_each_entry(host, &fakepci_hosts, list)
		if (host->sysdata.domain == fn->domain && host->number == fn->bus)
			return host;
	host = kzalloc(sizeof(*host), GFP_KERNEL);
	if (!host)
		return NULL;
	host->sysdata.domain = fn->domain;
	host->number = fn->bus;
	host->node = NUMA_NO_NODE;
	list_add_tail(&host->list, &fakepci_hosts);
	return host;
}

static int attach_to_host(struct fakepci_fn *fn)
{
	struct fakepci_host *host;

	if (fn->kind != FAKEPCI_ROOT && fn->kind != FAKEPCI_RCIEP)
		return FAIL("only a root port or an integrated endpoint has no parent");
	if (!fn->domain)
		return FAIL("domain 0 is the machine's own");
	host = host_for(fn);
	if (!host)
		return -ENOMEM;
	fn->host = host;
	if (fn->kind == FAKEPCI_ROOT && fn->has_node) {
		if (host->node != NUMA_NO_NODE && host->node != fn->node)
			return FAIL("root bus %04x:%02x is on node %d already", fn->domain, fn->bus,
				    host->node);
		host->node = fn->node;
		fn->has_node = false;
	}
	return 0;
}

static int attach_to_parent(struct fakepci_fn *fn, const char *address)
{
	struct fakepci_fn *parent;
	u16 domain;
	u8 bus, devfn;

	if (fakepci_parse_address(address, &domain, &bus, &devfn))
		return FAIL("parent %s", address);
	parent = fakepci_find(domain, bus, devfn);
	if (!parent)
		return FAIL("no parent %s above", address);
	if (fn->kind == FAKEPCI_DOWN ? parent->kind != FAKEPCI_UP : !fakepci_is_upper_end(parent))
		return FAIL("%s cannot be the parent", address);
	if (fn->kind == FAKEPCI_ROOT || fn->kind == FAKEPCI_RCIEP || fn->domain != domain ||
	    fn->bus <= bus)
		return FAIL("not below %s", address);
	if (fn->kind != FAKEPCI_DOWN && PCI_SLOT(fn->devfn))
		return FAIL("a link leads to device 0 only");
	if (parent->secondary && parent->secondary != fn->bus)
		return FAIL("bus below %s is %02x already", address, parent->secondary);
	parent->secondary = fn->bus;
	fn->parent = parent;
	fn->host = parent->host;
	return 0;
}

static void set_defaults(struct fakepci_fn *fn)
{
	fn->max_speed = fn->cur_speed = 0xff;
	fn->max_width = fn->cur_width = fn->target = 0xff;
	fn->node = NUMA_NO_NODE;
	fn->mps = 256;
	fn->mrrs = 512;
	fn->relaxed = true;
	fn->has_aer = true;
	fn->has_acs = fakepci_is_upper_end(fn);
	fn->subvendor = fn->vendor;
	fn->subdevice = 1;
}

/* What was not said: 32 GT/s x16, running at what both ends can. */
static void fill_in(struct fakepci_fn *fn)
{
	
	struct fakepci_fn *up = fn->parent;
	u8 speed, width;

	if (fn->max_speed == 0xff)
		fn->max_speed = 5;
	if (fn->max_width == 0xff)
		fn->max_width = 16;
	speed = fn->max_speed;
	width = fn->max_width;
	if (up && fakepci_is_upper_end(up)) {
		speed = min(speed, up->max_speed);
		width = min(width, up->max_width);
	}
	if (fn->cur_speed == 0xff)
		fn->cur_speed = speed;
	if (fn->cur_width == 0xff)
		fn->cur_width = width;
	if (fn->target == 0xff)
		fn->target = fn->max_speed;
	/* The functions of one device are of one card. */
	if (!fn->card)
		fn->card = fn->domain << 16 | fn->bus << 8 | PCI_SLOT(fn->devfn) << 3;
}

static int parse_function(struct fakepci_fn *fn, char *line)
{
	char *word[5], *rest = line;
	int i, err;

	for (i = 0; i < ARRAY_SIZE(word); i++) {
		rest = skip_spaces(rest);
		word[i] = strsep(&rest, " \t");
		if (!word[i] || !*word[i] || (!rest && i < ARRAY_SIZE(word) - 1))
			return FAIL("not ADDRESS PARENT KIND VENDOR:DEVICE CLASS …");
	}
	if (fakepci_parse_address(word[0], &fn->domain, &fn->bus, &fn->devfn))
		return FAIL("%s is no address", word[0]);
	if (fakepci_find(fn->domain, fn->bus, fn->devfn))
		return FAIL("%s stands here twice", word[0]);
	err = parse_kind(word[2], &fn->kind);
	if (!err)
		err = parse_pair(word[3], &fn->vendor, &fn->device);
	if (err)
		return err;
	if (kstrtou32(word[4], 16, &fn->class) || fn->class > 0xffffff)
		return FAIL("class %s", word[4]);
	set_defaults(fn);
	while (rest && !err) {
		char *attribute;

		rest = skip_spaces(rest);
		attribute = strsep(&rest, " \t");
		if (*attribute)
			err = parse_attribute(fn, attribute);
	}
	if (!err)
		err = strcmp(word[1], "-") ? attach_to_parent(fn, word[1]) : attach_to_host(fn);
	if (!err)
		fill_in(fn);
	return err;
}

/* Every bridge's range of bus numbers: its own and those below. */
static void spread(void)
{
	struct fakepci_host *host;
	struct fakepci_fn *fn;

	list_for_each_entry(host, &fakepci_hosts, list)
		host->subordinate = host->number;
	list_for_each_entry(fn, &fakepci_fns, list)
		fn->subordinate = fn->secondary;
	list_for_each_entry_reverse(fn, &fakepci_fns, list) {
		u8 last = max(fn->bus, fn->subordinate);

		if (fn->parent)
			fn->parent->subordinate = max(fn->parent->subordinate, last);
		else
			fn->host->subordinate = max(fn->host->subordinate, last);
	}
}

/* Do the ranges of two that stand beside each other overlap? */
static bool clash(void)
{
	struct fakepci_host *h, *g;
	struct fakepci_fn *a, *b;

	list_for_each_entry(h, &fakepci_hosts, list)
		list_for_each_entry(g, &fakepci_hosts, list)
			if (h != g && h->sysdata.domain == g->sysdata.domain &&
			    h->number <= g->subordinate && g->number <= h->subordinate)
				return true;
	list_for_each_entry(a, &fakepci_fns, list) {
		if (!a->secondary)
			continue;
		if (a->secondary <= a->bus)
			return true;
		list_for_each_entry(b, &fakepci_fns, list)
			if (a != b && b->secondary && a->host == b->host &&
			    a->parent == b->parent && a->secondary <= b->subordinate &&
			    b->secondary <= a->subordinate)
				return true;
	}
	return false;
}

/* Firmware gives an empty slot a bus number too; so the first one is taken that fits. */
static int number_empty(void)
{
	struct fakepci_fn *fn;
	unsigned int n;

	list_for_each_entry(fn, &fakepci_fns, list) {
		if (!fakepci_is_bridge(fn) || fn->secondary)
			continue;
		for (n = fn->bus + 1; n <= 255; n++) {
			fn->secondary = n;
			spread();
			if (!clash())
				break;
		}
		if (n > 255)
			return FAIL("no bus number is left for %04x:%02x:%02x.%x", fn->domain,
				    fn->bus, PCI_SLOT(fn->devfn), PCI_FUNC(fn->devfn));
	}
	return 0;
}

/* Virtual functions stand behind the physical one, and are not there until they are switched on. */
static int add_vfs(struct fakepci_fn *pf)
{
	struct fakepci_fn *vf;
	unsigned int i;

	if (pf->vfs && !pf->has_aer)
		return FAIL("virtual functions need AER, at which the list of capabilities begins");
	for (i = 0; i < pf->vfs; i++) {
		u8 devfn = pf->devfn + FAKEPCI_FIRST_VF + i;

		if (fakepci_find(pf->domain, pf->bus, devfn))
			return FAIL("no room for virtual function %u", i);
		vf = vzalloc(sizeof(*vf));
		if (!vf)
			return -ENOMEM;
		vf->kind = FAKEPCI_VF;
		vf->pf = pf;
		vf->host = pf->host;
		vf->parent = pf->parent;
		vf->domain = pf->domain;
		vf->bus = pf->bus;
		vf->devfn = devfn;
		/* both as the standard has it: they are read from the physical function */
		vf->vendor = 0xffff;
		vf->device = 0xffff;
		vf->subvendor = pf->subvendor;
		vf->subdevice = pf->subdevice;
		vf->class = pf->class;
		vf->max_speed = pf->max_speed;
		vf->max_width = pf->max_width;
		vf->no_driver = pf->no_driver;
		vf->gone = true;
		list_add_tail(&vf->list, &fakepci_fns);
	}
	return 0;
}

static int parse_lines(char *text)
{
	struct fakepci_fn *fn;
	unsigned int number = 0;
	char *line;
	int err;

	while ((line = strsep(&text, "\n"))) {
		number++;
		line = strim(line);
		if (!*line || *line == '#')
			continue;
		fn = vzalloc(sizeof(*fn));
		if (!fn)
			return -ENOMEM;
		err = parse_function(fn, line);
		if (err) {
			vfree(fn);
		} else {
			list_add_tail(&fn->list, &fakepci_fns);
			err = add_vfs(fn);
		}
		if (err) {
			pr_err("fakepci: topology, line %u\n", number);
			return err;
		}
	}
	return list_empty(&fakepci_fns) ? -ENODATA : 0;
}

/* Makes the lists of functions and hosts from a text, which is used up. */
int fakepci_parse(char *text)
{
	int err = parse_lines(text);

	if (!err) {
		spread();
		if (clash())
			err = FAIL("bus numbers overlap");
	}
	if (!err)
		err = number_empty();
	if (!err)
		spread();
	else
		fakepci_free();
	return err;
}

void fakepci_free(void)
{
	struct fakepci_host *host, *h;
	struct fakepci_fn *fn, *f;

	list_for_each_entry_safe(fn, f, &fakepci_fns, list) {
		list_del(&fn->list);
		vfree(fn);
	}
	list_for_each_entry_safe(host, h, &fakepci_hosts, list) {
		list_del(&host->list);
		kfree(host);
	}
}
