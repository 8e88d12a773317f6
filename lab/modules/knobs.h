/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Files in debugfs that do something to a device when a line is written to them. Who includes this
 * has a table knobs[] of struct knob, whose member name is the file's, and a function turn() that
 * takes one of them, the device and a line.
 */
#ifndef LAB_KNOBS_H
#define LAB_KNOBS_H

#include <linux/debugfs.h>
#include <linux/fs.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>

static const struct knob *knob_of(struct file *file)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(knobs); i++)
		if (!strcmp(knobs[i].name, file->f_path.dentry->d_name.name))
			return &knobs[i];
	return NULL;
}

/* A write is one or more whole lines. */
static ssize_t knob_write(struct file *file, const char __user *from, size_t len, loff_t *pos)
{
	const struct knob *knob = knob_of(file);
	char *text, *rest, *line;
	int err = 0;

	if (!knob || len > PAGE_SIZE)
		return -EINVAL;
	text = memdup_user_nul(from, len);
	if (IS_ERR(text))
		return PTR_ERR(text);
	rest = text;
	while (!err && (line = strsep(&rest, "\n"))) {
		line = strim(line);
		if (*line)
			err = turn(knob, file->private_data, line);
	}
	kfree(text);
	return err ?: len;
}

static const struct file_operations knob_fops = {
	.owner = THIS_MODULE,
	.open = simple_open,
	.write = knob_write,
};

/* A device's folder with all of them. */
static struct dentry *knob_files(const char *name, struct dentry *parent, void *device)
{
	struct dentry *dir = debugfs_create_dir(name, parent);
	int i;

	for (i = 0; i < ARRAY_SIZE(knobs); i++)
		debugfs_create_file(knobs[i].name, 0200, dir, device, &knob_fops);
	return dir;
}

#endif
