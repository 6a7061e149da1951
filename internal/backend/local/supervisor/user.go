//go:build linux

package supervisor

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"strconv"
	"syscall"
)

func giveTo(path string, uid, gid *uint32) error {
	if uid == nil && gid == nil {
		return nil
	}
	u, g := -1, -1
	if uid != nil {
		u = int(*uid)
	}
	if gid != nil {
		g = int(*gid)
	}
	err := os.Chown(path, u, g)
	if errors.Is(err, os.ErrPermission) {
		return &cannotRun{text: fmt.Sprintf("runAs: this server runs as user %d and cannot give files to user %d: remove runAs, or run the server as root", os.Getuid(), u)}
	}
	return err
}

// credential never leaves a foreign user our own groups: root's, in most cases.
func credential(uid, gid *uint32) *syscall.Credential {
	if uid == nil && gid == nil {
		return nil
	}
	c := &syscall.Credential{Uid: uint32(os.Getuid()), Gid: uint32(os.Getgid()), NoSetGroups: os.Getuid() != 0}
	if uid != nil {
		c.Uid, c.Gid = *uid, *uid
		if u, err := user.LookupId(strconv.FormatUint(uint64(*uid), 10)); err == nil {
			if g, err := strconv.ParseUint(u.Gid, 10, 32); err == nil {
				c.Gid = uint32(g)
			}
		}
	}
	if gid != nil {
		c.Gid = *gid
	}
	return c
}
