/*
 * cmd_mount.h: zarrfs mount as mount(8) calls it; exit codes are mount(8)'s.
 */
#ifndef ZARRFS_CMD_MOUNT_H
#define ZARRFS_CMD_MOUNT_H

/* STORE MOUNTPOINT -o ... : by `mount -t fuse.zarrfs`, without a subcommand. */
int mount_as_fuse_helper(int argc, char **argv);

/* The same with mount(8)'s flags, when the program is called mount.zarrfs. */
int mount_as_mount_helper(int argc, char **argv);

#endif
