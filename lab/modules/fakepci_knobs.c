// SPDX-License-Identifier: GPL-2.0-only
/*
 * What can be done to the simulated hardware while it runs: files under /sys/kernel/debug/fakepci,
 * each of which takes a line that begins with a function's address.
 */
#include <linux/debugfs.h>
#include <linux/delay.h>
#include <linux/interrupt.h>
#include <linux/pci.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "fakepci.h"

#define MAX_WORDS	8

struct knob {
	const char *name;
	int min_words;			/* after the address */
	int (*turn)(struct fakepci_fn *fn, char **word, int words);
};

/*
 * The port above the link that ends at a function, or below which it begins; NULL if there is no
 * link.
 */
static struct fakepci_fn *upper_end(struct fakepci_fn *fn)
{
	if (fakepci_is_upper_end(fn))
		return fn;
	return fn->parent;
}

static bool is_lower_end(struct fakepci_fn *fn, struct fakepci_fn *port)
{
	return fn->parent == port && fakepci_is_upper_end(port) && fn->kind != FAKEPCI_VF;
}

static void set_status(struct fakepci_fn *fn, unsigned int speed, unsigned int width)
{
	const int sta = FAKEPCI_CAP_EXP + PCI_EXP_LNKSTA;
	u16 old = fakepci_get16(fn, sta) & ~(PCI_EXP_LNKSTA_CLS | PCI_EXP_LNKSTA_NLW);

	/* The upper end notes that the bandwidth changed, as for a link that trained anew. */
	if (fakepci_is_upper_end(fn))
		old |= PCI_EXP_LNKSTA_LBMS;
	fakepci_set16(fn, sta, old | speed | width << 4);
}

static void set_link(struct fakepci_fn *port, unsigned int speed, unsigned int width)
{
	struct fakepci_fn *fn;
	unsigned long flags;

	raw_spin_lock_irqsave(&fakepci_lock, flags);
	set_status(port, speed, width);
	list_for_each_entry(fn, &fakepci_fns, list)
		if (is_lower_end(fn, port))
			set_status(fn, speed, width);
	fakepci_presence(port);
	raw_spin_unlock_irqrestore(&fakepci_lock, flags);
}

/* link: ADDRESS GEN WIDTH. 0 0 is a link that is down. */
static int turn_link(struct fakepci_fn *fn, char **word, int words)
{
	struct fakepci_fn *port = upper_end(fn);
	unsigned int speed, width;

	if (kstrtouint(word[0], 10, &speed) || kstrtouint(word[1], 10, &width) || speed > 6 ||
	    width > 32)
		return -EINVAL;
	if (!port)
		return -ENXIO;
	set_link(port, speed, width);
	return 0;
}

/* target: ADDRESS GEN. The speed that software allows, at both ends. */
static int turn_target(struct fakepci_fn *fn, char **word, int words)
{
	struct fakepci_fn *port = upper_end(fn), *other;
	const int ctl = FAKEPCI_CAP_EXP + PCI_EXP_LNKCTL2;
	unsigned long flags;
	unsigned int speed;

	if (kstrtouint(word[0], 10, &speed) || speed > 6)
		return -EINVAL;
	if (!port)
		return -ENXIO;
	raw_spin_lock_irqsave(&fakepci_lock, flags);
	list_for_each_entry(other, &fakepci_fns, list)
		if (other == port || is_lower_end(other, port))
			fakepci_set16(other, ctl,
				      (fakepci_get16(other, ctl) & ~PCI_EXP_LNKCTL2_TLS) | speed);
	raw_spin_unlock_irqrestore(&fakepci_lock, flags);
	return 0;
}

/* aspm: ADDRESS 0|L0s|L1|L0sL1, at both ends */
static int turn_aspm(struct fakepci_fn *fn, char **word, int words)
{
	/* as the field counts them */
	static const char *const states[] = { "0", "L0s", "L1", "L0sL1" };
	const int ctl = FAKEPCI_CAP_EXP + PCI_EXP_LNKCTL;
	struct fakepci_fn *port = upper_end(fn), *other;
	int state = match_string(states, ARRAY_SIZE(states), word[0]);
	unsigned long flags;

	if (state < 0)
		return -EINVAL;
	if (!port)
		return -ENXIO;
	raw_spin_lock_irqsave(&fakepci_lock, flags);
	list_for_each_entry(other, &fakepci_fns, list)
		if (other == port || is_lower_end(other, port))
			fakepci_set16(other, ctl,
				      (fakepci_get16(other, ctl) & ~PCI_EXP_LNKCTL_ASPMC) | state);
	raw_spin_unlock_irqrestore(&fakepci_lock, flags);
	return 0;
}

/* acs: ADDRESS HEX */
static int turn_acs(struct fakepci_fn *fn, char **word, int words)
{
	unsigned long flags;
	u16 control;

	if (kstrtou16(word[0], 16, &control))
		return -EINVAL;
	if (!fn->has_acs)
		return -ENXIO;
	raw_spin_lock_irqsave(&fakepci_lock, flags);
	fakepci_set16(fn, fakepci_acs_cap(fn) + PCI_ACS_CTRL, control);
	raw_spin_unlock_irqrestore(&fakepci_lock, flags);
	return 0;
}

/* Of a payload or of a read request. */
static bool is_size(unsigned int n)
{
	return is_power_of_2(n) && n >= 128 && n <= 4096;
}

/* devctl: ADDRESS [mps=BYTES] [mrrs=BYTES] [ro=0|1], behind the kernel's back, as setpci would */
static int turn_devctl(struct fakepci_fn *fn, char **word, int words)
{
	const int ctl = FAKEPCI_CAP_EXP + PCI_EXP_DEVCTL;
	unsigned int mps = 0, mrrs = 0, n;
	unsigned long flags;
	int i, relaxed = -1;

	
	for (i = 0; i < words; i++) {
		if (sscanf(word[i], "mps=%u", &n) == 1 && is_size(n))
			mps = n;
		else if (sscanf(word[i], "mrrs=%u", &n) == 1 && is_size(n))
			mrrs = n;
		else if (sscanf(word[i], "ro=%u", &n) == 1 && n <= 1)
			relaxed = n;
		else
			return -EINVAL;
	}
	raw_spin_lock_irqsave(&fakepci_lock, flags);
	fakepci_set16(fn, ctl, fakepci_devctl(fakepci_get16(fn, ctl), mps, mrrs, relaxed));
	raw_spin_unlock_irqrestore(&fakepci_lock, flags);
	return 0;
}

static int set_disconnected(struct pci_dev *pdev, void *unused)
{
	pdev->error_state = pci_channel_io_perm_failure;
	return 0;
}

/* What the kernel's hot-plug drivers do when they learn that a device is gone. */
static void disconnect(struct pci_dev *pdev)
{
	set_disconnected(pdev, NULL);
	if (pdev->subordinate)
		pci_walk_bus(pdev->subordinate, set_disconnected, NULL);
}

static int set_connected(struct pci_dev *pdev, void *unused)
{
	pdev->error_state = pci_channel_io_normal;
	return 0;
}

/*
 * lost: ADDRESS 1: config reads are all ones, and the kernel does not know it; 2: the kernel has
 * noticed, and answers reads of its link files by an error; 0: it answers again.
 */
static int turn_lost(struct fakepci_fn *fn, char **word, int words)
{
	unsigned int how;
	struct pci_dev *pdev;
	unsigned long flags;

	if (kstrtouint(word[0], 10, &how) || how > 2)
		return -EINVAL;
	pdev = fakepci_dev(fn);
	if (!pdev)
		return -ENODEV;
	raw_spin_lock_irqsave(&fakepci_lock, flags);
	fn->lost = how;
	raw_spin_unlock_irqrestore(&fakepci_lock, flags);
	if (how == 2) {
		disconnect(pdev);
	} else if (!how) {
		set_connected(pdev, NULL);
		if (pdev->subordinate)
			pci_walk_bus(pdev->subordinate, set_connected, NULL);
	}
	pci_dev_put(pdev);
	return 0;
}

/* remove: ADDRESS. A surprise: first it is gone, then the kernel takes it off. */
static int turn_remove(struct fakepci_fn *fn, char **word, int words)
{
	struct pci_dev *pdev = fakepci_dev(fn);
	unsigned long flags;

	if (!pdev)
		return -ENODEV;
	raw_spin_lock_irqsave(&fakepci_lock, flags);
	fn->gone = true;
	fakepci_presence(fn->parent);
	raw_spin_unlock_irqrestore(&fakepci_lock, flags);
	disconnect(pdev);
	pci_stop_and_remove_bus_device_locked(pdev);
	pci_dev_put(pdev);
	return 0;
}

static bool is_below(struct fakepci_fn *fn, struct fakepci_fn *top)
{
	for (; fn; fn = fn->parent)
		if (fn == top)
			return true;
	return false;
}

/*
 * add: ADDRESS. It comes back as it was at first, with all that is below it, and its bus is
 * scanned.
 */
static int turn_add(struct fakepci_fn *fn, char **word, int words)
{
	struct pci_bus *bus = pci_find_bus(fn->domain, fn->bus);
	struct fakepci_fn *other;
	unsigned long flags;

	if (!bus)
		return -ENODEV;
	if (!fn->gone)
		return -EEXIST;
	list_for_each_entry(other, &fakepci_fns, list)
		if (is_below(other, fn) && other->kind != FAKEPCI_VF) {
			fakepci_build(other);
			other->lost = false;
			other->gone = false;
		}
	if (fn->parent && fakepci_is_upper_end(fn->parent))
		set_link(fn->parent, fn->cur_speed, fn->cur_width);
	raw_spin_lock_irqsave(&fakepci_lock, flags);
	list_for_each_entry(other, &fakepci_fns, list)
		if (is_below(other, fn))
			fakepci_presence(other);
	raw_spin_unlock_irqrestore(&fakepci_lock, flags);
	pci_lock_rescan_remove();
	pci_rescan_bus(bus);
	pci_unlock_rescan_remove();
	return 0;
}

enum severity { CORRECTABLE, NONFATAL, FATAL };

/* Sets an error's bits where they are seen. Is there an error message to the root port? */
static bool latch(struct fakepci_fn *fn, enum severity severity, u32 bits)
{
	static const u16 status[] = {
		[CORRECTABLE] = PCI_EXP_DEVSTA_CED,
		[NONFATAL] = PCI_EXP_DEVSTA_NFED,
		[FATAL] = PCI_EXP_DEVSTA_FED,
	};
	static const u16 enable[] = {
		[CORRECTABLE] = PCI_EXP_DEVCTL_CERE,
		[NONFATAL] = PCI_EXP_DEVCTL_NFERE,
		[FATAL] = PCI_EXP_DEVCTL_FERE,
	};
	const int aer = FAKEPCI_CAP_AER, exp = FAKEPCI_CAP_EXP;
	int sta = aer + PCI_ERR_COR_STATUS, mask = aer + PCI_ERR_COR_MASK;
	bool reported = fakepci_get16(fn, exp + PCI_EXP_DEVCTL) & enable[severity];

	if (severity != CORRECTABLE) {
		int sever = aer + PCI_ERR_UNCOR_SEVER;

		sta = aer + PCI_ERR_UNCOR_STATUS;
		mask = aer + PCI_ERR_UNCOR_MASK;
		/* What it was set to be, so that the register and the message agree. */
		fakepci_set32(fn, sever, severity == FATAL ? fakepci_get32(fn, sever) | bits :
			      fakepci_get32(fn, sever) & ~bits);
		fakepci_set32(fn, aer + PCI_ERR_CAP, __ffs(bits));
		reported |= fakepci_get16(fn, PCI_COMMAND) & PCI_COMMAND_SERR;
	}
	fakepci_set32(fn, sta, fakepci_get32(fn, sta) | bits);
	fakepci_set16(fn, exp + PCI_EXP_DEVSTA,
		      fakepci_get16(fn, exp + PCI_EXP_DEVSTA) | status[severity]);
	return reported && (bits & ~fakepci_get32(fn, mask));
}

/* The root port notes an error message. Does it interrupt? */
static bool receive(struct fakepci_fn *root, struct fakepci_fn *from, enum severity severity)
{
	static const u32 enable[] = {
		[CORRECTABLE] = PCI_ERR_ROOT_CMD_COR_EN,
		[NONFATAL] = PCI_ERR_ROOT_CMD_NONFATAL_EN,
		[FATAL] = PCI_ERR_ROOT_CMD_FATAL_EN,
	};
	const int sta = FAKEPCI_CAP_AER + PCI_ERR_ROOT_STATUS;
	const int src = FAKEPCI_CAP_AER + PCI_ERR_ROOT_ERR_SRC;
	u32 status = fakepci_get32(root, sta);
	u32 first = PCI_ERR_ROOT_COR_RCV, more = PCI_ERR_ROOT_MULTI_COR_RCV;
	bool correctable = severity == CORRECTABLE;

	if (!correctable) {
		first = PCI_ERR_ROOT_UNCOR_RCV;
		more = PCI_ERR_ROOT_MULTI_UNCOR_RCV;
		if (severity == FATAL && !(status & first))
			status |= PCI_ERR_ROOT_FIRST_FATAL;
	}
	if (status & first)
		status |= more;
	else
		fakepci_set16(root, src + (correctable ? 0 : 2), from->bus << 8 | from->devfn);
	status |= first;
	if (!correctable)
		status |= severity == FATAL ? PCI_ERR_ROOT_FATAL_RCV : PCI_ERR_ROOT_NONFATAL_RCV;
	fakepci_set32(root, sta, status);
	return fakepci_get32(root, FAKEPCI_CAP_AER + PCI_ERR_ROOT_COMMAND) & enable[severity];
}

/*
 * Makes a message-signalled interrupt arrive: the kernel sends the vector, which it has programmed,
 * to the CPU which it has chosen, so that handler, counts and affinity are the real ones. One that
 * has not been taken yet swallows the next.
 */
static int interrupt(struct fakepci_fn *fn, unsigned int vector)
{
	struct pci_dev *pdev = fakepci_dev(fn);
	int err, irq;

	if (!pdev)
		return -ENODEV;
	if (pdev->msi_enabled || pdev->msix_enabled) {
		irq = pci_irq_vector(pdev, vector);
		err = irq < 0 ? irq : irq_inject_interrupt(irq);
	} else {
		err = -ENXIO;
	}
	pci_dev_put(pdev);
	return err;
}

/*
 * Errors of one kind that come before the kernel has looked count as one, on hardware too. So that
 * lines in a row are as many errors, waits until a correctable one has been looked at.
 */
static void wait_until_handled(struct fakepci_fn *fn, u32 bits)
{
	
	const int sta = FAKEPCI_CAP_AER + PCI_ERR_COR_STATUS;
	int tries;

	for (tries = 0; tries < 2000 && fakepci_get32(fn, sta) & bits; tries++)
		usleep_range(500, 1000);
}

/*
 * aer: ADDRESS correctable|nonfatal|fatal HEX. An error that the function has seen, and tells the
 * root port.
 */
static int turn_aer(struct fakepci_fn *fn, char **word, int words)
{
	static const char *const severities[] = {
		[CORRECTABLE] = "correctable",
		[NONFATAL] = "nonfatal",
		[FATAL] = "fatal",
	};
	int severity = match_string(severities, ARRAY_SIZE(severities), word[0]);
	bool told, raise = false, dead;
	struct fakepci_fn *root = fn;
	unsigned long flags;
	u32 bits;
	int err;

	if (severity < 0 || kstrtou32(word[1], 16, &bits) || !bits)
		return -EINVAL;
	while (root->parent)
		root = root->parent;
	if (!fn->has_aer || root->kind != FAKEPCI_ROOT || !root->has_aer)
		return -ENXIO;
	raw_spin_lock_irqsave(&fakepci_lock, flags);
	dead = fakepci_is_dead(fn);
	told = !dead && latch(fn, severity, bits);
	if (told)
		raise = receive(root, fn, severity);
	raw_spin_unlock_irqrestore(&fakepci_lock, flags);
	if (dead)
		return -ENODEV;
	/* Latched, but reporting is masked or not enabled: nothing will count it. */
	if (!raise)
		return -EOPNOTSUPP;
	err = interrupt(root, 0);
	if (err && err != -EBUSY)
		return err;
	if (severity == CORRECTABLE)
		wait_until_handled(fn, bits);
	return 0;
}

/* irq: ADDRESS VECTOR COUNT. Interrupts of a function that has irqs= */
static int turn_irq(struct fakepci_fn *fn, char **word, int words)
{
	unsigned int vector, count, tries = 0;

	if (kstrtouint(word[0], 10, &vector) || kstrtouint(word[1], 10, &count) || count > 1000000)
		return -EINVAL;
	while (count) {
		int err = interrupt(fn, vector);

		if (!err)
			count--;
		else if (err != -EBUSY || ++tries > 100000)
			return err;
		usleep_range(20, 50);
		if (signal_pending(current))
			return -EINTR;
	}
	return 0;
}

static const struct knob knobs[] = {
	{ "link", 2, turn_link },
	{ "target", 1, turn_target },
	{ "aspm", 1, turn_aspm },
	{ "acs", 1, turn_acs },
	{ "devctl", 1, turn_devctl },
	{ "lost", 1, turn_lost },
	{ "remove", 0, turn_remove },
	{ "add", 0, turn_add },
	{ "aer", 2, turn_aer },
	{ "irq", 2, turn_irq },
};

static int turn(const struct knob *knob, char *line)
{
	char *word[MAX_WORDS], *w;
	struct fakepci_fn *fn;
	int words = 0;
	u16 domain;
	u8 bus, devfn;

	while ((w = strsep(&line, " \t"))) {
		if (!*w)
			continue;
		if (words == MAX_WORDS)
			return -EINVAL;
		word[words++] = w;
	}
	if (words < 1 + knob->min_words || fakepci_parse_address(word[0], &domain, &bus, &devfn))
		return -EINVAL;
	fn = fakepci_find(domain, bus, devfn);
	return fn ? knob->turn(fn, word + 1, words - 1) : -ENODEV;
}

/* A write is one or more whole lines. */
static ssize_t knob_write(struct file *file, const char __user *from, size_t len, loff_t *pos)
{
	char *text, *rest, *line;
	int err = 0;

	if (len > PAGE_SIZE)
		return -E2BIG;
	text = memdup_user_nul(from, len);
	if (IS_ERR(text))
		return PTR_ERR(text);
	rest = text;
	mutex_lock(&fakepci_mutex);
	while (!err && (line = strsep(&rest, "\n"))) {
		line = strim(line);
		if (*line)
			err = turn(file->private_data, line);
	}
	mutex_unlock(&fakepci_mutex);
	kfree(text);
	return err ?: len;
}

static const struct file_operations knob_fops = {
	.owner = THIS_MODULE,
	.open = simple_open,
	.write = knob_write,
};

void fakepci_knobs(struct dentry *dir)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(knobs); i++)
		debugfs_create_file(knobs[i].name, 0200, dir, (void *)&knobs[i], &knob_fops);
}
