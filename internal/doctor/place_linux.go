package doctor

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/musterhq/muster/internal/core/amount"
)

const (
	leastRoom  = 1 << 30  // below which a database and logs soon fill the disk
	usualRoom  = 60 << 30 // the usual bound of the image cache, and some
	leastNodes = 100_000  // inodes: a task takes some ten
	socketMost = 107      // longest path of a unix socket, unix(7)
	leastFiles = 4096
	leastShm   = 1 << 30
)

// remote are file systems on which SQLite's locks do not hold (sqlite.org/faq.html#q5).
var remote = map[int64]string{0x6969: "NFS", 0xff534d42: "CIFS", 0xfe534d42: "SMB", 0x00c36400: "Ceph", 0x0bd00bd0: "Lustre", 0x65735546: "FUSE", 0x47504653: "GPFS", 0x19830326: "BeeGFS"}

// directory looks at who owns the data directory and who may write there.
func (m Machine) directory() Check {
	c := Check{Name: "data directory", Status: OK, Found: m.DataDir}
	info, err := os.Stat(m.DataDir)
	if os.IsNotExist(err) {
		above := nearest(m.DataDir)
		if unix.Access(above, unix.W_OK) != nil {
			c.Status, c.Found = Fail, fmt.Sprintf("%s is not there, and %s cannot be written to", m.DataDir, above)
			c.Means, c.Fix = "a server does not start", "name another with --data-dir"
			return c
		}
		c.Found += " (not there yet)"
		return c
	}
	if err != nil {
		c.Status, c.Found, c.Means, c.Fix = Fail, err.Error(), "a server does not start", "name another with --data-dir"
		return c
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case !info.IsDir():
		c.Status, c.Found, c.Means, c.Fix = Fail, m.DataDir+" is no directory", "a server does not start", "name another with --data-dir"
	case ok && int(st.Uid) != m.UID:
		c.Status, c.Found = Fail, fmt.Sprintf("%s belongs to user %d, and this is user %d", m.DataDir, st.Uid, m.UID)
		c.Means, c.Fix = "a server of this user does not start there", "run it as that user, or name another with --data-dir"
	case unix.Access(m.DataDir, unix.W_OK) != nil:
		c.Status, c.Found, c.Means, c.Fix = Fail, m.DataDir+" cannot be written to", "a server does not start", "chmod u+w "+m.DataDir
	case info.Mode().Perm()&0o022 != 0:
		c.Status, c.Found = Warn, fmt.Sprintf("%s has mode %o: others may write there", m.DataDir, info.Mode().Perm())
		c.Means, c.Fix = "others could take the place of the database or the socket", "chmod go-w "+m.DataDir
	}
	if key, err := os.Stat(filepath.Join(m.DataDir, "secrets.key")); err == nil && key.Mode().Perm()&0o077 != 0 && c.Status == OK {
		c.Status, c.Found = Warn, fmt.Sprintf("secrets.key has mode %o", key.Mode().Perm())
		c.Means, c.Fix = "others can read the key that seals secrets", "chmod 600 "+filepath.Join(m.DataDir, "secrets.key")
	}
	return c
}

// disk looks at the file system of the data directory.
func (m Machine) disk() Check {
	c := Check{Name: "disk", Status: OK}
	dir := nearest(m.DataDir)
	st, err := m.Room(dir)
	if err != nil {
		c.Status, c.Found = Skip, err.Error()
		return c
	}
	free := st.Bavail * uint64(st.Bsize)                                                                                         //nolint:gosec // a block is never negative
	c.Found = fmt.Sprintf("%s free of %s at %s", amount.Bytes(int64(free)), amount.Bytes(int64(st.Blocks)*int64(st.Bsize)), dir) //nolint:gosec // as above
	kind, far := remote[int64(st.Type)]                                                                                          //nolint:unconvert // 32 bits elsewhere
	switch {
	case far:
		c.Status, c.Found = Fail, c.Found+", over "+kind
		c.Means, c.Fix = "locks of the database do not hold there: it can be damaged", "put the data directory on a local disk: --data-dir"
	case free < leastRoom:
		c.Status, c.Means, c.Fix = Fail, "a server stops accepting work when the disk is full", "make room, or choose another --data-dir"
	case st.Files > 0 && st.Ffree < leastNodes:
		c.Status, c.Found = Warn, c.Found+fmt.Sprintf(", %d inodes", st.Ffree)
		c.Means, c.Fix = "the disk is full when these are used up, whatever room there is", "remove small files, or choose another --data-dir"
	case st.Flags&unix.ST_NOEXEC != 0:
		c.Status, c.Found = Warn, c.Found+", mounted noexec"
		c.Means, c.Fix = "the server is unpacked there and cannot be started", "mount it without noexec, choose another --data-dir, or build with go install ./cmd/muster"
	case st.Type == unix.TMPFS_MAGIC:
		c.Status, c.Found = Warn, c.Found+", in memory"
		c.Means, c.Fix = "everything is gone after a reboot", "choose a --data-dir on a disk"
	case free < usualRoom:
		c.Status, c.Means, c.Fix = Warn, "the cache of container images may take 50Gi", "muster server --image-cache 20Gi, or make room"
	}
	return c
}

// socket looks at the length of the socket's path.
func (m Machine) socket() Check {
	path := filepath.Join(m.DataDir, "muster.sock")
	c := Check{Name: "socket", Status: OK, Found: path}
	if len(path) > socketMost {
		c.Status, c.Found = Warn, fmt.Sprintf("%s has %d bytes, a socket at most %d", path, len(path), socketMost)
		c.Means, c.Fix = "the socket lies in a directory below /tmp instead", "choose a shorter --data-dir"
	}
	return c
}

// shared looks at the memory that processes of a task share: data loaders and NCCL
// use it.
func (m Machine) shared() Check {
	c := Check{Name: "shared memory", Status: OK}
	st, err := m.Room(m.path("/dev/shm"))
	if err != nil {
		c.Status, c.Found = Warn, "/dev/shm: "+err.Error()
		c.Means, c.Fix = "data loaders with several workers and NCCL fail", "mount -t tmpfs tmpfs /dev/shm"
		return c
	}
	have := st.Blocks * uint64(st.Bsize)                 //nolint:gosec // a block is never negative
	c.Found = amount.Bytes(int64(have)) + " at /dev/shm" //nolint:gosec // as above
	if have < leastShm {
		c.Status, c.Means, c.Fix = Warn, "data loaders with several workers and NCCL fail for want of it", "mount -o remount,size=50% /dev/shm"
	}
	return c
}

func (m Machine) clock() Check {
	c := Check{Name: "clock", Status: OK, Found: "synchronized"}
	right, err := m.Synchronized()
	switch {
	case err != nil:
		c.Status, c.Found = Skip, "the kernel does not say: "+err.Error()
	case !right:
		c.Status, c.Found = Warn, "not synchronized"
		c.Means, c.Fix = "times in lists and charges are this machine's own; certificates and tokens of others may look expired", "apt-get install chrony, or timedatectl set-ntp true"
	}
	return c
}

// files looks at how many files a process may open: each task that is followed
// and each client takes some.
func (m Machine) files() Check {
	c := Check{Name: "open files", Status: OK}
	n, err := m.Limit(unix.RLIMIT_NOFILE)
	if err != nil {
		c.Status, c.Found = Skip, err.Error()
		return c
	}
	c.Found = strconv.FormatUint(n, 10) + " a process"
	if n < leastFiles {
		c.Status, c.Means, c.Fix = Warn, "a server with a few hundred tasks runs out of them", "ulimit -n 65536, LimitNOFILE=65536 in its unit, or muster server install, which sets that"
	}
	return c
}

// ports looks whether this machine can be reached by itself, and which ports a
// gang is given.
func (m Machine) ports() Check {
	c := Check{Name: "ports", Status: OK}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		c.Status, c.Found = Fail, "no port of 127.0.0.1 can be opened: "+err.Error()
		c.Means, c.Fix = "pages, gangs and services do not work", "ip link set lo up"
		return c
	}
	_ = l.Close()
	var low, high int
	if n, _ := fmt.Sscan(m.read("/proc/sys/net/ipv4/ip_local_port_range"), &low, &high); n == 2 {
		c.Found = fmt.Sprintf("127.0.0.1 answers; %d to %d are given out", low, high)
		if high-low < 1000 {
			c.Status, c.Means, c.Fix = Warn, "few ports for gangs and services", "sysctl net.ipv4.ip_local_port_range=\"32768 60999\""
		}
	} else {
		c.Found = "127.0.0.1 answers"
	}
	return c
}

// name looks whether the machine's own name leads to it: launchers of gangs (MPI,
// gloo) look it up.
func (m Machine) name() Check {
	c := Check{Name: "host name", Status: OK}
	host := m.read("/proc/sys/kernel/hostname")
	if host == "" {
		c.Status, c.Found = Skip, "not known"
		return c
	}
	for line := range strings.Lines(m.read("/etc/hosts")) {
		line, _, _ = strings.Cut(line, "#")
		if f := strings.Fields(line); len(f) > 1 {
			for _, n := range f[1:] {
				if n == host {
					c.Found = host + " is " + f[0] + " (/etc/hosts)"
					return c
				}
			}
		}
	}
	if all, err := net.LookupHost(host); err == nil && len(all) > 0 {
		c.Found = host + " is " + all[0]
		return c
	}
	c.Status, c.Found = Warn, host+" leads nowhere"
	c.Means, c.Fix = "launchers that look up their own machine (Open MPI, gloo) fail or wait", "echo '127.0.1.1 "+host+"' >> /etc/hosts"
	return c
}

// lingering looks whether systemd ends what this user left behind at logout.
func (m Machine) lingering() Check {
	c := Check{Name: "logout", Status: OK}
	if m.UID == 0 {
		c.Found = "a server of root outlives it"
		return c
	}
	if _, err := os.Stat(m.path("/run/systemd/system")); err != nil {
		c.Found = "no systemd that would end a server"
		return c
	}
	kill := false
	names, _ := filepath.Glob(m.path("/etc/systemd/logind.conf.d/*.conf"))
	for _, f := range append([]string{m.path("/etc/systemd/logind.conf")}, names...) {
		b, _ := os.ReadFile(f)
		for line := range strings.Lines(string(b)) {
			if k, v, ok := strings.Cut(strings.TrimSpace(line), "="); ok && k == "KillUserProcesses" {
				kill = v == "yes" || v == "true" || v == "1"
			}
		}
	}
	if users, _ := filepath.Glob(m.path("/var/lib/systemd/linger/*")); len(users) > 0 {
		for _, u := range users {
			if st, err := os.Stat(u); err == nil && (filepath.Base(u) == os.Getenv("USER") || int(st.Sys().(*syscall.Stat_t).Uid) == m.UID) {
				c.Found = "lingering is on: units of this user outlive it"
				return c
			}
		}
	}
	c.Found = "a server in the background outlives it; one of muster server install ends"
	if kill {
		c.Status, c.Found = Warn, "logind ends what a user leaves behind (KillUserProcesses)"
		c.Means = "the server and its tasks end at logout"
	}
	if c.Status == OK {
		c.Status = Skip
	}
	c.Fix = "loginctl enable-linger"
	return c
}
