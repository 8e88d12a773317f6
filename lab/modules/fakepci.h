/* SPDX-License-Identifier: GPL-2.0-only */
/* fakepci: software PCI Express host bridges for fabricd's lab. */
#ifndef FAKEPCI_H
#define FAKEPCI_H

#include <linux/if.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/pci.h>
#include <linux/spinlock.h>

#define FAKEPCI_MAX_PORTS	2	/* network ports of one function */

/* Where the capabilities of every function lie in its config space. */
#define FAKEPCI_CAP_EXP		0x40
#define FAKEPCI_CAP_PM		0x80
#define FAKEPCI_CAP_MSI		0x90
#define FAKEPCI_CAP_MSIX	0xa0
#define FAKEPCI_CAP_AER		0x100
#define FAKEPCI_CAP_ACS		0x150
#define FAKEPCI_CAP_SRIOV	0x180

/* from the physical function's number to the first virtual one's */
#define FAKEPCI_FIRST_VF	2

enum fakepci_kind {
	FAKEPCI_ROOT,
	FAKEPCI_UP,
	FAKEPCI_DOWN,
	FAKEPCI_EP,
	FAKEPCI_RCIEP,
	FAKEPCI_VF,
};

struct fakepci_netdev {
	char name[IFNAMSIZ];
	u32 speed;			/* Mb/s */
};

struct fakepci_rdma {
	char name[64];
	u32 rate;			/* Gb/s */
	bool ethernet;
	unsigned int ports;
};

/* A root bus: root ports that share domain and bus number. */
struct fakepci_host {
	struct pci_sysdata sysdata;	/* what the kernel's x86 code asks for domain and node */
	struct list_head list;
	u8 number;
	u8 subordinate;
	int node;
	struct resource busn;
	struct resource window;		/* addresses given to base address registers */
	struct pci_bus *bus;
};

struct fakepci_fn {
	struct list_head list;
	struct fakepci_host *host;
	struct fakepci_fn *parent;
	struct fakepci_fn *pf;		/* of a virtual function */
	enum fakepci_kind kind;
	u16 domain;
	u8 bus;
	u8 devfn;

	/* as the topology says */
	u16 vendor, device, subvendor, subdevice;
	u32 class;
	u8 max_speed, max_width, cur_speed, cur_width, target;
	int node;
	bool has_node;
	u16 mps, mrrs;
	bool relaxed;
	u8 aspm;
	bool has_acs, has_aer;
	u16 acs;
	u64 bar0;
	unsigned int irqs;
	unsigned int vfs;
	bool no_driver;
	struct fakepci_netdev netdev[FAKEPCI_MAX_PORTS];
	unsigned int netdevs;
	struct fakepci_rdma rdma;
	u64 card;

	/* bridges only */
	u8 secondary, subordinate;

	/* Changed at run time, under fakepci_lock. */
	bool lost;			/* every config read is all ones */
	bool gone;			/* not in its slot: like lost, and not found by a scan */
	u8 cfg[PCI_CFG_SPACE_EXP_SIZE];
	u8 rw[PCI_CFG_SPACE_EXP_SIZE];	/* bits that a write changes */
	u8 w1c[PCI_CFG_SPACE_EXP_SIZE];	/* bits that a write of one clears */
};

static inline bool fakepci_is_bridge(const struct fakepci_fn *fn)
{
	return fn->kind == FAKEPCI_ROOT || fn->kind == FAKEPCI_UP || fn->kind == FAKEPCI_DOWN;
}

/* A port whose link lies below it. */
static inline bool fakepci_is_upper_end(const struct fakepci_fn *fn)
{
	return fn->kind == FAKEPCI_ROOT || fn->kind == FAKEPCI_DOWN;
}

/* fakepci_main.c. The lists change only while no host exists. */
extern struct mutex fakepci_mutex;
extern struct list_head fakepci_fns;
extern struct list_head fakepci_hosts;
struct fakepci_fn *fakepci_find(u16 domain, u8 bus, u8 devfn);
struct fakepci_fn *fakepci_of(struct pci_dev *pdev);
struct pci_dev *fakepci_dev(struct fakepci_fn *fn);

/* fakepci_topo.c */
int fakepci_parse(char *text);
int fakepci_parse_address(const char *s, u16 *domain, u8 *bus, u8 *devfn);
void fakepci_free(void);

/* fakepci_config.c */
extern raw_spinlock_t fakepci_lock;
extern struct pci_ops fakepci_ops;
void fakepci_build(struct fakepci_fn *fn);
void fakepci_presence(struct fakepci_fn *port);
bool fakepci_is_dead(const struct fakepci_fn *fn);
u16 fakepci_get16(const struct fakepci_fn *fn, int off);
u32 fakepci_get32(const struct fakepci_fn *fn, int off);
void fakepci_set16(struct fakepci_fn *fn, int off, u16 val);
void fakepci_set32(struct fakepci_fn *fn, int off, u32 val);
int fakepci_acs_cap(const struct fakepci_fn *fn);
u16 fakepci_devctl(u16 old, u16 mps, u16 mrrs, int relaxed);

/* fakepci_knobs.c */
void fakepci_knobs(struct dentry *dir);

/* fakepci_driver.c */
int fakepci_drivers_register(void);
void fakepci_drivers_unregister(void);

#endif
