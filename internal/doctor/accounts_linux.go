package doctor

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/musterhq/muster/internal/core/osuser"
)

// accounts tells whether a server here can run tasks as who submits them
// (--tasks-as submitter): that takes root with some of its rights, and programs that
// look accounts up and set limits.
func (m Machine) accounts() Check {
	c := Check{Name: "tasks as their users", Status: OK}
	const alone = "tasks run as the server's user: a server for several people cannot tell them apart on this machine"
	if m.UID != 0 {
		c.Status, c.Found = Skip, fmt.Sprintf("user %d is not root", m.UID)
		c.Means, c.Fix = alone, "where several people use this machine: sudo muster server install --system"
		return c
	}
	mask := uint64(0)
	for line := range strings.Lines(m.read("/proc/self/status")) {
		if rest, ok := strings.CutPrefix(line, "CapEff:"); ok {
			mask, _ = strconv.ParseUint(strings.TrimSpace(rest), 16, 64)
		}
	}
	if missing := osuser.Missing(mask); len(missing) > 0 {
		var names []string
		for _, x := range missing {
			names = append(names, x.Name+" ("+x.For+")")
		}
		c.Status, c.Found = Warn, "root without "+strings.Join(names, ", ")
		c.Means, c.Fix = alone, "give the server's unit or container these capabilities; the unit of muster server install --system has them"
		return c
	}
	c.Found = "root, with the rights that it takes"
	if _, err := m.Look("getent"); err != nil {
		c.Status, c.Found = Warn, "getent is not in PATH"
		c.Means, c.Fix = "only accounts in /etc/passwd are known, none of a directory (LDAP, SSSD)", "apt-get install libc-bin"
		return c
	}
	if _, err := m.Look("prlimit"); err != nil {
		c.Status, c.Found = Warn, "prlimit is not in PATH"
		c.Means, c.Fix = "tasks of users for whom /etc/security/limits.conf has limits are refused", "apt-get install util-linux"
	}
	return c
}
