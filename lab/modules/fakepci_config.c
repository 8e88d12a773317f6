// SPDX-License-Identifier: GPL-2.0-only
/*
 * The config space of the simulated functions: a table for each, with masks that say what a write
 * changes, so that the kernel's own enumeration, AER, ASPM and MSI code find registers that behave.
 */
#include <linux/log2.h>
#include <linux/pci.h>

#include "fakepci.h"

/*
 * On x86 the PCI core serialises config accesses no longer, and the AER driver reads from its hard
 * interrupt.
 */
DEFINE_RAW_SPINLOCK(fakepci_lock);

u16 fakepci_get16(const struct fakepci_fn *fn, int off)
{
	return fn->cfg[off] | fn->cfg[off + 1] << 8;
}

u32 fakepci_get32(const struct fakepci_fn *fn, int off)
{
	return fakepci_get16(fn, off) | (u32)fakepci_get16(fn, off + 2) << 16;
}

static void put(u8 *table, int off, int size, u32 val)
{
	int i;

	for (i = 0; i < size; i++)
		table[off + i] = val >> (8 * i);
}

void fakepci_set16(struct fakepci_fn *fn, int off, u16 val)
{
	put(fn->cfg, off, 2, val);
}

void fakepci_set32(struct fakepci_fn *fn, int off, u32 val)
{
	put(fn->cfg, off, 4, val);
}

/* A register: its value, the bits that can be written, the bits that a one clears. */
static void reg(struct fakepci_fn *fn, int off, int size, u32 val, u32 rw, u32 w1c)
{
	put(fn->cfg, off, size, val);
	put(fn->rw, off, size, rw);
	put(fn->w1c, off, size, w1c);
}

/* A 64-bit prefetchable base address register: those need no room below 4 GiB. */
static void bar64(struct fakepci_fn *fn, int off, u64 size)
{
	u64 mask = ~(size - 1);

	reg(fn, off, 4, PCI_BASE_ADDRESS_MEM_TYPE_64 | PCI_BASE_ADDRESS_MEM_PREFETCH,
	    lower_32_bits(mask) & ~0xfU, 0);
	reg(fn, off + 4, 4, 0, upper_32_bits(mask), 0);
}

static void build_header(struct fakepci_fn *fn)
{
	
	u8 type = fakepci_is_bridge(fn) ? PCI_HEADER_TYPE_BRIDGE : PCI_HEADER_TYPE_NORMAL;
	struct fakepci_fn *other;
	bool multi = false;

	list_for_each_entry(other, &fakepci_fns, list)
		if (other != fn && other->domain == fn->domain && other->bus == fn->bus &&
		    PCI_SLOT(other->devfn) == PCI_SLOT(fn->devfn) && other->kind != FAKEPCI_VF)
			multi = true;

	reg(fn, PCI_VENDOR_ID, 2, fn->vendor, 0, 0);
	reg(fn, PCI_DEVICE_ID, 2, fn->device, 0, 0);
	reg(fn, PCI_COMMAND, 2, 0, PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER | PCI_COMMAND_PARITY |
	    PCI_COMMAND_SERR | PCI_COMMAND_INTX_DISABLE, 0);
	reg(fn, PCI_STATUS, 2, PCI_STATUS_CAP_LIST, 0, 0xf900);
	reg(fn, PCI_CLASS_REVISION, 4, fn->class << 8 | 0xa1, 0, 0);
	reg(fn, PCI_CACHE_LINE_SIZE, 1, 0, 0xff, 0);
	reg(fn, PCI_HEADER_TYPE, 1, type | (multi ? 0x80 : 0), 0, 0);
	reg(fn, PCI_CAPABILITY_LIST, 1, FAKEPCI_CAP_EXP, 0, 0);
	reg(fn, PCI_INTERRUPT_LINE, 1, 0, 0xff, 0);
}

static void build_bridge(struct fakepci_fn *fn)
{
	reg(fn, PCI_PRIMARY_BUS, 1, fn->bus, 0xff, 0);
	reg(fn, PCI_SECONDARY_BUS, 1, fn->secondary, 0xff, 0);
	reg(fn, PCI_SUBORDINATE_BUS, 1, fn->subordinate, 0xff, 0);
	/* Windows whose base is above their limit are closed. */
	reg(fn, PCI_IO_BASE, 1, 0xf0, 0xf0, 0);
	reg(fn, PCI_IO_LIMIT, 1, 0, 0xf0, 0);
	reg(fn, PCI_SEC_STATUS, 2, 0, 0, 0xf900);
	reg(fn, PCI_MEMORY_BASE, 2, 0xfff0, 0xfff0, 0);
	reg(fn, PCI_MEMORY_LIMIT, 2, 0, 0xfff0, 0);
	reg(fn, PCI_PREF_MEMORY_BASE, 2, 0xfff0 | PCI_PREF_RANGE_TYPE_64, 0xfff0, 0);
	reg(fn, PCI_PREF_MEMORY_LIMIT, 2, PCI_PREF_RANGE_TYPE_64, 0xfff0, 0);
	reg(fn, PCI_PREF_BASE_UPPER32, 4, 0, ~0, 0);
	reg(fn, PCI_PREF_LIMIT_UPPER32, 4, 0, ~0, 0);
	reg(fn, PCI_BRIDGE_CONTROL, 2, PCI_BRIDGE_CTL_SERR,
	    PCI_BRIDGE_CTL_SERR | PCI_BRIDGE_CTL_PARITY | PCI_BRIDGE_CTL_BUS_RESET, 0);
}

static void build_endpoint(struct fakepci_fn *fn)
{
	reg(fn, PCI_SUBSYSTEM_VENDOR_ID, 2, fn->subvendor, 0, 0);
	reg(fn, PCI_SUBSYSTEM_ID, 2, fn->subdevice, 0, 0);
	if (fn->kind == FAKEPCI_VF)
		return;
	if (fn->bar0)
		bar64(fn, PCI_BASE_ADDRESS_0, fn->bar0);
	if (fn->irqs) {
		/*
		 * The table lies in memory that nobody has: what is written there is lost, and
		 * nothing reads it.
		 */
		bar64(fn, PCI_BASE_ADDRESS_2, SZ_64K);
		reg(fn, FAKEPCI_CAP_MSIX, 2, PCI_CAP_ID_MSIX, 0, 0);
		reg(fn, FAKEPCI_CAP_MSIX + PCI_MSIX_FLAGS, 2, fn->irqs - 1,
		    PCI_MSIX_FLAGS_ENABLE | PCI_MSIX_FLAGS_MASKALL, 0);
		reg(fn, FAKEPCI_CAP_MSIX + PCI_MSIX_TABLE, 4, 2, 0, 0);
		reg(fn, FAKEPCI_CAP_MSIX + PCI_MSIX_PBA, 4, SZ_32K | 2, 0, 0);
	}
	reg(fn, FAKEPCI_CAP_PM, 2, PCI_CAP_ID_PM | (fn->irqs ? FAKEPCI_CAP_MSIX << 8 : 0), 0, 0);
	reg(fn, FAKEPCI_CAP_PM + PCI_PM_PMC, 2, 3, 0, 0);
	reg(fn, FAKEPCI_CAP_PM + PCI_PM_CTRL, 2, PCI_PM_CTRL_NO_SOFT_RESET,
	    PCI_PM_CTRL_STATE_MASK, 0);
}

static u32 payload_code(u16 bytes)
{
	return bytes > 128 ? ilog2(bytes) - 7 : 0;
}

/* DEVCTL with other fields; 0 or -1 leaves one as it is. */
u16 fakepci_devctl(u16 old, u16 mps, u16 mrrs, int relaxed)
{
	if (mps)
		old = (old & ~PCI_EXP_DEVCTL_PAYLOAD) | payload_code(mps) << 5;
	if (mrrs)
		old = (old & ~PCI_EXP_DEVCTL_READRQ) | payload_code(mrrs) << 12;
	if (relaxed >= 0)
		old = (old & ~PCI_EXP_DEVCTL_RELAX_EN) | (relaxed ? PCI_EXP_DEVCTL_RELAX_EN : 0);
	return old;
}

static void build_link(struct fakepci_fn *fn)
{
	const int cap = FAKEPCI_CAP_EXP;
	u32 lnkcap = fn->max_speed | fn->max_width << 4;

	/*
	 * Without maximum the fields are zero, as some switches' are. The port number keeps the
	 * register as a whole from being zero, which would mean that there is no link at all.
	 */
	if (fn->max_speed && fn->max_width)
		lnkcap |= PCI_EXP_LNKCAP_ASPM_L1 |
			(fn->aspm & PCI_EXP_LNKCTL_ASPM_L0S ? PCI_EXP_LNKCAP_ASPM_L0S : 0);
	lnkcap |= (PCI_SLOT(fn->devfn) + 1) << 24;
	if (fakepci_is_upper_end(fn))
		lnkcap |= PCI_EXP_LNKCAP_DLLLARC | PCI_EXP_LNKCAP_LBNC;
	reg(fn, cap + PCI_EXP_LNKCAP, 4, lnkcap, 0, 0);
	reg(fn, cap + PCI_EXP_LNKCAP2, 4, ((1U << fn->max_speed) - 1) << 1, 0, 0);
	/*
	 * The link is the physical function's: what is said of its state here is reserved and zero.
	 */
	if (fn->kind == FAKEPCI_VF)
		return;
	/*
	 * Both ends say common clock, or the kernel would retrain every link. Retrain (0x20) reads
	 * as zero.
	 */
	reg(fn, cap + PCI_EXP_LNKCTL, 2, fn->aspm | PCI_EXP_LNKCTL_CCC, 0x0fdb, 0);
	reg(fn, cap + PCI_EXP_LNKSTA, 2, fn->cur_speed | fn->cur_width << 4 | PCI_EXP_LNKSTA_SLC, 0,
	    PCI_EXP_LNKSTA_LBMS | PCI_EXP_LNKSTA_LABS);
	reg(fn, cap + PCI_EXP_LNKCTL2, 2, fn->target, 0xffff, 0);
}

static void build_express(struct fakepci_fn *fn)
{
	static const u8 types[] = {
		[FAKEPCI_ROOT] = PCI_EXP_TYPE_ROOT_PORT,
		[FAKEPCI_UP] = PCI_EXP_TYPE_UPSTREAM,
		[FAKEPCI_DOWN] = PCI_EXP_TYPE_DOWNSTREAM,
		[FAKEPCI_EP] = PCI_EXP_TYPE_ENDPOINT,
		[FAKEPCI_RCIEP] = PCI_EXP_TYPE_RC_END,
		[FAKEPCI_VF] = PCI_EXP_TYPE_ENDPOINT,
	};
	const int cap = FAKEPCI_CAP_EXP;
	u16 flags = 2 | types[fn->kind] << 4;
	u16 next = fakepci_is_bridge(fn) ? FAKEPCI_CAP_MSI : FAKEPCI_CAP_PM;

	if (fn->kind == FAKEPCI_VF)
		next = 0;
	if (fakepci_is_upper_end(fn))
		flags |= PCI_EXP_FLAGS_SLOT;
	reg(fn, cap, 2, PCI_CAP_ID_EXP | next << 8, 0, 0);
	reg(fn, cap + PCI_EXP_FLAGS, 2, flags, 0, 0);
	/* Any latency of L0s and L1 is acceptable, or the kernel would switch them off. */
	reg(fn, cap + PCI_EXP_DEVCAP, 4,
	    payload_code(max_t(u16, fn->mps, 512)) | PCI_EXP_DEVCAP_L0S | PCI_EXP_DEVCAP_L1 |
	    PCI_EXP_DEVCAP_EXT_TAG | PCI_EXP_DEVCAP_RBER, 0, 0);
	reg(fn, cap + PCI_EXP_DEVCTL, 2,
	    fakepci_devctl(PCI_EXP_DEVCTL_NOSNOOP_EN, fn->mps, fn->mrrs, fn->relaxed), 0x7fff, 0);
	reg(fn, cap + PCI_EXP_DEVSTA, 2, 0, 0, 0x000f);
	if (fn->kind != FAKEPCI_RCIEP)
		build_link(fn);
	if (fakepci_is_upper_end(fn)) {
		/*
		 * No hot-plug controller: a surprise is a device that is not there, as in a chassis
		 * without one.
		 */
		reg(fn, cap + PCI_EXP_SLTCAP, 4, (u32)(fn->secondary & 0x1fff) << 19, 0, 0);
		reg(fn, cap + PCI_EXP_SLTCTL, 2, 0, 0x1fff, 0);
		reg(fn, cap + PCI_EXP_SLTSTA, 2, 0, 0, 0x011f);
	}
	if (fn->kind == FAKEPCI_ROOT) {
		reg(fn, cap + PCI_EXP_RTCTL, 2, 0, 0x001f, 0);
		reg(fn, cap + PCI_EXP_RTSTA, 4, 0, 0, PCI_EXP_RTSTA_PME);
	}
	if (fakepci_is_bridge(fn)) {
		/* Without an interrupt the kernel's driver of ports binds to none. */
		reg(fn, FAKEPCI_CAP_MSI, 2, PCI_CAP_ID_MSI, 0, 0);
		reg(fn, FAKEPCI_CAP_MSI + PCI_MSI_FLAGS, 2, PCI_MSI_FLAGS_64BIT,
		    PCI_MSI_FLAGS_ENABLE, 0);
		reg(fn, FAKEPCI_CAP_MSI + PCI_MSI_ADDRESS_LO, 4, 0, ~3U, 0);
		reg(fn, FAKEPCI_CAP_MSI + PCI_MSI_ADDRESS_HI, 4, 0, ~0U, 0);
		reg(fn, FAKEPCI_CAP_MSI + PCI_MSI_DATA_64, 2, 0, 0xffff, 0);
	}
	reg(fn, cap + PCI_EXP_DEVCAP2, 4, 0x1f, 0, 0);
	reg(fn, cap + PCI_EXP_DEVCTL2, 2, 0, 0x001f, 0);
}

/* The list of extended capabilities has to begin at 0x100. */
int fakepci_acs_cap(const struct fakepci_fn *fn)
{
	return fn->has_aer ? FAKEPCI_CAP_ACS : FAKEPCI_CAP_AER;
}

static void build_aer(struct fakepci_fn *fn)
{
	const int cap = FAKEPCI_CAP_AER;

	u32 next = 0;

	if (fn->has_acs)
		next = FAKEPCI_CAP_ACS;
	else if (fn->vfs)
		next = FAKEPCI_CAP_SRIOV;
	reg(fn, cap, 4, PCI_EXT_CAP_ID_ERR | 2 << 16 | next << 20, 0, 0);
	/*
	 * Masks and severities as they are after a reset, but the internal errors, which are left
	 * unmasked.
	 */
	reg(fn, cap + PCI_ERR_UNCOR_STATUS, 4, 0, 0, ~0xfU);
	reg(fn, cap + PCI_ERR_UNCOR_MASK, 4, 0, ~0xfU, 0);
	reg(fn, cap + PCI_ERR_UNCOR_SEVER, 4, 0x00462030, ~0xfU, 0);
	reg(fn, cap + PCI_ERR_COR_STATUS, 4, 0, 0, 0xf1c1);
	reg(fn, cap + PCI_ERR_COR_MASK, 4, PCI_ERR_COR_ADV_NFAT, 0xf1c1, 0);
	if (fn->kind == FAKEPCI_ROOT) {
		reg(fn, cap + PCI_ERR_ROOT_COMMAND, 4, 0, 7, 0);
		reg(fn, cap + PCI_ERR_ROOT_STATUS, 4, 0, 0, 0x7f);
	}
}

static void build_acs(struct fakepci_fn *fn)
{
	const int cap = fakepci_acs_cap(fn);

	reg(fn, cap, 4, PCI_EXT_CAP_ID_ACS | 1 << 16, 0, 0);
	reg(fn, cap + PCI_ACS_CAP, 2, 0x5f, 0, 0);
	reg(fn, cap + PCI_ACS_CTRL, 2, fn->acs, 0x5f, 0);
}

static void build_sriov(struct fakepci_fn *fn)
{
	const int cap = FAKEPCI_CAP_SRIOV;

	reg(fn, cap, 4, PCI_EXT_CAP_ID_SRIOV | 1 << 16, 0, 0);
	reg(fn, cap + PCI_SRIOV_CTRL, 2, 0, PCI_SRIOV_CTRL_VFE | PCI_SRIOV_CTRL_MSE, 0);
	reg(fn, cap + PCI_SRIOV_INITIAL_VF, 2, fn->vfs, 0, 0);
	reg(fn, cap + PCI_SRIOV_TOTAL_VF, 2, fn->vfs, 0, 0);
	reg(fn, cap + PCI_SRIOV_NUM_VF, 2, 0, 0xffff, 0);
	reg(fn, cap + PCI_SRIOV_FUNC_LINK, 1, PCI_FUNC(fn->devfn), 0, 0);
	reg(fn, cap + PCI_SRIOV_VF_OFFSET, 2, FAKEPCI_FIRST_VF, 0, 0);
	reg(fn, cap + PCI_SRIOV_VF_STRIDE, 2, 1, 0, 0);
	/* NVIDIA's adapters have one number for all their virtual functions. */
	reg(fn, cap + PCI_SRIOV_VF_DID, 2,
	    fn->vendor == PCI_VENDOR_ID_MELLANOX ? 0x101e : fn->device, 0, 0);
	reg(fn, cap + PCI_SRIOV_SUP_PGSIZE, 4, 0x553, 0, 0);
	reg(fn, cap + PCI_SRIOV_SYS_PGSIZE, 4, 1, 0xfff, 0);
}

/* As many virtual functions are there as are switched on. Called with fakepci_lock held. */
static void update_vfs(struct fakepci_fn *pf)
{
	unsigned int count = 0;
	struct fakepci_fn *vf;

	if (fakepci_get16(pf, FAKEPCI_CAP_SRIOV + PCI_SRIOV_CTRL) & PCI_SRIOV_CTRL_VFE)
		count = fakepci_get16(pf, FAKEPCI_CAP_SRIOV + PCI_SRIOV_NUM_VF);
	list_for_each_entry(vf, &fakepci_fns, list)
		if (vf->pf == pf)
			vf->gone = vf->devfn >= pf->devfn + FAKEPCI_FIRST_VF + count;
}

/* Gives a function its registers as they are after power on. */
void fakepci_build(struct fakepci_fn *fn)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&fakepci_lock, flags);
	memset(fn->cfg, 0, sizeof(fn->cfg));
	memset(fn->rw, 0, sizeof(fn->rw));
	memset(fn->w1c, 0, sizeof(fn->w1c));
	build_header(fn);
	if (fakepci_is_bridge(fn))
		build_bridge(fn);
	else
		build_endpoint(fn);
	build_express(fn);
	if (fn->has_aer)
		build_aer(fn);
	if (fn->has_acs)
		build_acs(fn);
	if (fn->vfs) {
		build_sriov(fn);
		update_vfs(fn);
	}
	raw_spin_unlock_irqrestore(&fakepci_lock, flags);
}

/*
 * Sets what a port says of its slot: is something there, is the data link up. Speed and width stay
 * as they were: a port that lost its device goes on naming the last ones. Called with fakepci_lock
 * held.
 */
void fakepci_presence(struct fakepci_fn *port)
{
	const int sta = FAKEPCI_CAP_EXP + PCI_EXP_LNKSTA, slot = FAKEPCI_CAP_EXP + PCI_EXP_SLTSTA;
	struct fakepci_fn *fn;
	bool present = false;
	u16 link;

	if (!port || !fakepci_is_upper_end(port))
		return;
	list_for_each_entry(fn, &fakepci_fns, list)
		if (fn->parent == port && fn->kind != FAKEPCI_VF && !fn->gone)
			present = true;
	link = fakepci_get16(port, sta) & ~PCI_EXP_LNKSTA_DLLLA;
	if (present && link & PCI_EXP_LNKSTA_NLW)
		link |= PCI_EXP_LNKSTA_DLLLA;
	fakepci_set16(port, sta, link);
	fakepci_set16(port, slot, present ? PCI_EXP_SLTSTA_PDS : 0);
}

/* Nothing answers behind something that does not answer. */
bool fakepci_is_dead(const struct fakepci_fn *fn)
{
	if (fn->pf && (fn->pf->lost || fn->pf->gone))
		return true;
	for (; fn; fn = fn->parent)
		if (fn->lost || fn->gone)
			return true;
	return false;
}

static struct fakepci_fn *target(struct pci_bus *bus, unsigned int devfn)
{
	return fakepci_find(pci_domain_nr(bus), bus->number, devfn);
}

static int config_read(struct pci_bus *bus, unsigned int devfn, int where, int size, u32 *val)
{
	struct fakepci_fn *fn = target(bus, devfn);
	unsigned long flags;
	int i;

	/* An access that nobody answers reads as all ones and is no error, as on hardware. */
	*val = ~0U;
	if (!fn || where + size > PCI_CFG_SPACE_EXP_SIZE)
		return PCIBIOS_SUCCESSFUL;
	raw_spin_lock_irqsave(&fakepci_lock, flags);
	if (!fakepci_is_dead(fn)) {
		*val = 0;
		for (i = 0; i < size; i++)
			*val |= (u32)fn->cfg[where + i] << (8 * i);
	}
	raw_spin_unlock_irqrestore(&fakepci_lock, flags);
	return PCIBIOS_SUCCESSFUL;
}

static int config_write(struct pci_bus *bus, unsigned int devfn, int where, int size, u32 val)
{
	struct fakepci_fn *fn = target(bus, devfn);
	unsigned long flags;
	int i;

	if (!fn || where + size > PCI_CFG_SPACE_EXP_SIZE)
		return PCIBIOS_SUCCESSFUL;
	raw_spin_lock_irqsave(&fakepci_lock, flags);
	for (i = 0; i < size && !fakepci_is_dead(fn); i++) {
		u8 *cell = &fn->cfg[where + i], rw = fn->rw[where + i], new = val >> (8 * i);

		*cell = (*cell & ~rw & ~(new & fn->w1c[where + i])) | (new & rw);
	}
	if (fn->vfs && where >= FAKEPCI_CAP_SRIOV)
		update_vfs(fn);
	raw_spin_unlock_irqrestore(&fakepci_lock, flags);
	return PCIBIOS_SUCCESSFUL;
}

struct pci_ops fakepci_ops = {
	.read = config_read,
	.write = config_write,
};
