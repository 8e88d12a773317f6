// SPDX-License-Identifier: GPL-2.0-only
/*
 * The drivers of the simulated devices: one for GPUs and switches between them, one for network
 * adapters. They bind, take interrupts, recover from errors, and give an adapter the interfaces
 * that its line in the topology names.
 */
#include <linux/interrupt.h>
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/pci.h>

#include "fakepci.h"
#include "labnic.h"
#include "labrdma.h"

static char *gpu_driver = "fakegpu";
module_param(gpu_driver, charp, 0444);
MODULE_PARM_DESC(gpu_driver, "name of the driver of GPUs");
static char *nic_driver = "fakenic";
module_param(nic_driver, charp, 0444);
MODULE_PARM_DESC(nic_driver, "name of the driver of network adapters");

struct bound {
	struct net_device *netdev[FAKEPCI_MAX_PORTS];
	struct ib_device *ibdev;
	int vectors;
};

static irqreturn_t handle(int irq, void *data)
{
	return IRQ_HANDLED;
}

/* Interrupts named as mlx5's are. */
static int take_interrupts(struct pci_dev *pdev, struct bound *b, unsigned int count)
{
	const char *name;
	int i, err;

	b->vectors = pci_alloc_irq_vectors(pdev, 1, count, PCI_IRQ_MSIX);
	if (b->vectors < 0) {
		err = b->vectors;
		b->vectors = 0;
		return err;
	}
	for (i = 0; i < b->vectors; i++) {
		name = devm_kasprintf(&pdev->dev, GFP_KERNEL, "mlx5_comp%d@pci:%s", i,
				      pci_name(pdev));
		err = name ? request_irq(pci_irq_vector(pdev, i), handle, 0, name, b) : -ENOMEM;
		if (err)
			goto undo;
	}
	return 0;

undo:
	while (i--)
		free_irq(pci_irq_vector(pdev, i), b);
	pci_free_irq_vectors(pdev);
	b->vectors = 0;
	return err;
}

static void drop_interrupts(struct pci_dev *pdev, struct bound *b)
{
	int i;

	for (i = 0; i < b->vectors; i++)
		free_irq(pci_irq_vector(pdev, i), b);
	if (b->vectors)
		pci_free_irq_vectors(pdev);
}

/*
 * labnic and labrdma are asked for when they are needed, so that fakepci works without them. Each
 * device made keeps its module loaded.
 */
static struct net_device *make_netdev(struct pci_dev *pdev, struct fakepci_netdev *nd,
				      unsigned int port)
{
	typeof(labnic_create) *create = symbol_get(labnic_create);
	struct net_device *netdev;

	if (!create)
		return ERR_PTR(-ENOPKG);
	netdev = create(&pdev->dev, nd->name, nd->speed, port);
	if (IS_ERR(netdev))
		symbol_put(labnic_create);
	return netdev;
}

static void drop_netdev(struct net_device *netdev)
{
	typeof(labnic_destroy) *destroy = symbol_get(labnic_destroy);

	destroy(netdev);
	symbol_put(labnic_destroy);
	symbol_put(labnic_create);
}

static struct ib_device *make_rdma(struct pci_dev *pdev, struct fakepci_fn *fn,
				   struct net_device *const *netdevs)
{
	struct fakepci_rdma *r = &fn->rdma;
	typeof(labrdma_create) *create = symbol_get(labrdma_create);
	struct ib_device *ibdev;

	if (!create)
		return ERR_PTR(-ENOPKG);
	ibdev = create(&pdev->dev, r->name, r->rate, r->ethernet, r->ports, netdevs,
		       0x946dae0100000000ULL | fn->card);
	if (IS_ERR(ibdev))
		symbol_put(labrdma_create);
	return ibdev;
}

static void drop_rdma(struct ib_device *ibdev)
{
	typeof(labrdma_destroy) *destroy = symbol_get(labrdma_destroy);

	destroy(ibdev);
	symbol_put(labrdma_destroy);
	symbol_put(labrdma_create);
}

static void drop_interfaces(struct bound *b)
{
	int i;

	if (b->ibdev)
		drop_rdma(b->ibdev);
	for (i = 0; i < FAKEPCI_MAX_PORTS; i++)
		if (b->netdev[i])
			drop_netdev(b->netdev[i]);
}

static int make_interfaces(struct pci_dev *pdev, struct fakepci_fn *fn, struct bound *b)
{
	struct net_device *netdev;
	struct ib_device *ibdev;
	unsigned int i;

	for (i = 0; i < fn->netdevs; i++) {
		netdev = make_netdev(pdev, &fn->netdev[i], i);
		if (IS_ERR(netdev)) {
			pci_err(pdev, "fakepci: interface %s: %ld, is labnic loaded?\n",
				fn->netdev[i].name, PTR_ERR(netdev));
			return PTR_ERR(netdev);
		}
		b->netdev[i] = netdev;
	}
	if (*fn->rdma.name) {
		ibdev = make_rdma(pdev, fn, b->netdev);
		if (IS_ERR(ibdev)) {
			pci_err(pdev, "fakepci: RDMA device %s: %ld, is labrdma loaded?\n",
				fn->rdma.name, PTR_ERR(ibdev));
			return PTR_ERR(ibdev);
		}
		b->ibdev = ibdev;
	}
	return 0;
}

static int probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	struct fakepci_fn *fn = fakepci_of(pdev);
	struct bound *b;
	int err;

	/* The table of ids goes by class, so other devices of the machine are offered too. */
	if (!fn || fn->no_driver)
		return -ENODEV;
	b = devm_kzalloc(&pdev->dev, sizeof(*b), GFP_KERNEL);
	if (!b)
		return -ENOMEM;
	err = pci_enable_device(pdev);
	if (err)
		return err;
	pci_set_master(pdev);
	pci_set_drvdata(pdev, b);
	/* For the state to come back to after a reset. */
	pci_save_state(pdev);
	if (fn->irqs)
		err = take_interrupts(pdev, b, fn->irqs);
	if (!err)
		err = make_interfaces(pdev, fn, b);
	if (err) {
		drop_interfaces(b);
		drop_interrupts(pdev, b);
		pci_disable_device(pdev);
	}
	return err;
}

static void remove(struct pci_dev *pdev)
{
	struct bound *b = pci_get_drvdata(pdev);

	pci_disable_sriov(pdev);
	drop_interfaces(b);
	drop_interrupts(pdev, b);
	pci_disable_device(pdev);
}

/* Real drivers of such devices want a reset after a fatal error, and go on after others. */
static pci_ers_result_t error_detected(struct pci_dev *pdev, pci_channel_state_t state)
{
	if (state == pci_channel_io_normal)
		return PCI_ERS_RESULT_CAN_RECOVER;
	return PCI_ERS_RESULT_NEED_RESET;
}

static pci_ers_result_t mmio_enabled(struct pci_dev *pdev)
{
	return PCI_ERS_RESULT_RECOVERED;
}

static pci_ers_result_t slot_reset(struct pci_dev *pdev)
{
	pci_restore_state(pdev);
	pci_save_state(pdev);
	return PCI_ERS_RESULT_RECOVERED;
}

static const struct pci_error_handlers handlers = {
	.error_detected = error_detected,
	.mmio_enabled = mmio_enabled,
	.slot_reset = slot_reset,
};

static const struct pci_device_id gpu_ids[] = {
	{ PCI_DEVICE_CLASS(PCI_BASE_CLASS_DISPLAY << 16, 0xff0000) },
	/* processing accelerators */
	{ PCI_DEVICE_CLASS(0x120000, 0xff0000) },
	{ PCI_DEVICE_CLASS(PCI_CLASS_BRIDGE_OTHER << 8, 0xffff00) },	/* switches between GPUs */
	{}
};

static const struct pci_device_id nic_ids[] = {
	{ PCI_DEVICE_CLASS(PCI_BASE_CLASS_NETWORK << 16, 0xff0000) },
	{}
};

static struct pci_driver gpus = {
	.id_table = gpu_ids,
	.probe = probe,
	.remove = remove,
	.err_handler = &handlers,
	.sriov_configure = pci_sriov_configure_simple,
};

static struct pci_driver nics = {
	.id_table = nic_ids,
	.probe = probe,
	.remove = remove,
	.err_handler = &handlers,
	.sriov_configure = pci_sriov_configure_simple,
};

int fakepci_drivers_register(void)
{
	int err;

	gpus.name = gpu_driver;
	nics.name = nic_driver;
	err = pci_register_driver(&gpus);
	if (err)
		return err;
	err = pci_register_driver(&nics);
	if (err)
		pci_unregister_driver(&gpus);
	return err;
}

void fakepci_drivers_unregister(void)
{
	pci_unregister_driver(&nics);
	pci_unregister_driver(&gpus);
}
