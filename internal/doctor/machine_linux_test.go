package doctor

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// files are a machine as text: path and content.
type files map[string]string

// machine is a DGX as its files and tools show it, with what is different.
func machine(t *testing.T, differs files, tools map[string]string) Machine {
	t.Helper()
	root := t.TempDir()
	all := files{
		"proc/self/mountinfo":                   "25 30 0:22 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw\n",
		"proc/self/cgroup":                      "0::/system.slice/muster.service\n",
		"sys/fs/cgroup/cgroup.controllers":      "cpuset cpu io memory pids\n",
		"sys/fs/cgroup/cgroup.procs":            "",
		"proc/self/status":                      "Name:\tmuster\nCapEff:\t000001ffffffffff\n",
		"proc/filesystems":                      "nodev\toverlay\n",
		"proc/driver/nvidia/version":            "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.90.07  Fri May 31\n",
		"sys/bus/pci/devices/0/vendor":          "0x10de\n",
		"sys/bus/pci/devices/0/class":           "0x030200\n",
		"sys/bus/pci/devices/1/vendor":          "0x10de\n",
		"sys/bus/pci/devices/1/class":           "0x030200\n",
		"sys/bus/pci/devices/2/vendor":          "0x10de\n",
		"sys/bus/pci/devices/2/class":           "0x068000\n", // a switch of NVLinks
		"etc/cdi/nvidia.yaml":                   "cdiVersion: 0.5.0\n",
		"proc/77/comm":                          "nvidia-cuda-mps\n",
		"proc/sys/net/ipv4/ip_local_port_range": "32768\t60999\n",
		"proc/sys/kernel/hostname":              "dgx1\n",
		"etc/hosts":                             "127.0.0.1 localhost\n10.0.0.7 dgx1.example dgx1 # the rack\n",
		"dev/shm/.keep":                         "",
	}
	for name, text := range differs {
		if text == "-" {
			delete(all, name)
		} else {
			all[name] = text
		}
	}
	for name, text := range all {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	says := map[string]string{
		"runc":       "runc version 1.1.5",
		"buildah":    "",
		"getent":     "",
		"prlimit":    "",
		"nvidia-smi": "0, NVIDIA H100 80GB HBM3, Enabled, 0\n1, NVIDIA H100 80GB HBM3, Enabled, 0",
	}
	for name, text := range tools {
		if text == "-" {
			delete(says, name)
		} else {
			says[name] = text
		}
	}
	return Machine{
		DataDir: filepath.Join(root, "data"), Root: root, UID: 0,
		Look: func(name string) (string, error) {
			if _, ok := says[name]; !ok {
				return "", errors.New("not found")
			}
			return name, nil
		},
		Ask: func(_ context.Context, path string, _ ...string) (string, error) {
			if text, failed := strings.CutPrefix(says[path], "! "); failed {
				return text, errors.New("exit status 9")
			}
			return says[path], nil
		},
		Kernel:       func() (string, error) { return "6.1.0-18-amd64", nil },
		Room:         func(string) (unix.Statfs_t, error) { return room(200), nil },
		Synchronized: func() (bool, error) { return true, nil },
		Limit:        func(int) (uint64, error) { return 65536, nil },
	}
}

// room is a local file system with some GiB free.
func room(gib uint64) unix.Statfs_t {
	return unix.Statfs_t{Type: 0xef53, Bsize: 4096, Blocks: 500 << 18, Bavail: gib << 18, Files: 1 << 25, Ffree: 1 << 24}
}

func named(t *testing.T, m Machine, name string) Check {
	t.Helper()
	for _, c := range m.Examine(t.Context()) {
		if c.Name == name {
			return c
		}
	}
	t.Fatalf("there is no check %q", name)
	return Check{}
}

func TestAMachineInOrder(t *testing.T) {
	checks := machine(t, nil, nil).Examine(t.Context())
	if len(checks) < 15 {
		t.Errorf("%d checks only", len(checks))
	}
	for _, c := range checks {
		if c.Status != OK {
			t.Errorf("%s is %s: %s %s", c.Name, c.Status, c.Found, c.Means)
		}
	}
	if c := named(t, machine(t, nil, nil), "GPUs"); c.Found != "2 × NVIDIA H100 80GB HBM3, driver 550.90.07" {
		t.Errorf("GPUs: %q", c.Found)
	}
}

func TestWhatIsWrongIsSaid(t *testing.T) {
	for _, c := range []struct {
		what    string
		differs files
		tools   map[string]string
		change  func(*Machine)
		check   string
		status  Status
		says    string // in Found, Means or Fix
	}{
		{"an old kernel", nil, nil, func(m *Machine) { m.Kernel = func() (string, error) { return "4.18.0-513.el8", nil } }, "kernel", Fail, "5.3"},
		{"a kernel before cgroup.kill", nil, nil, func(m *Machine) { m.Kernel = func() (string, error) { return "5.4.0-1-generic", nil } }, "kernel", Warn, "5.14"},
		{"only v1", files{"proc/self/mountinfo": "25 30 0:22 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"}, nil, nil, "control groups", Warn, "unified_cgroup_hierarchy"},
		{"no memory controller", files{"sys/fs/cgroup/cgroup.controllers": "cpu pids"}, nil, nil, "control groups", Warn, "cgroup_disable"},
		{"no runc", nil, map[string]string{"runc": "-"}, nil, "containers", Warn, "apt-get install runc"},
		{"runc that does not run", nil, map[string]string{"runc": "! libseccomp.so.2: cannot open"}, nil, "containers", Fail, "libseccomp"},
		{"runc without root", nil, nil, func(m *Machine) { m.UID = 1000 }, "containers", Warn, "--as root"},
		{"no root", nil, nil, func(m *Machine) { m.UID = 1000 }, "tasks as their users", Skip, "server install --system"},
		{"root without rights", files{"proc/self/status": "CapEff:\t000001ffffdfff3f\n"}, nil, nil, "tasks as their users", Warn, "CAP_SETUID (to become who submitted), CAP_SETGID"},
		{"no getent", nil, map[string]string{"getent": "-"}, nil, "tasks as their users", Warn, "LDAP"},
		{"no prlimit", nil, map[string]string{"prlimit": "-"}, nil, "tasks as their users", Warn, "util-linux"},
		{"no overlay", files{"proc/filesystems": "ext4\n"}, nil, nil, "containers", Warn, "modprobe overlay"},
		{"no builder", nil, map[string]string{"buildah": "-"}, nil, "image builder", Skip, "buildah"},
		{"no GPU", files{"proc/driver/nvidia/version": "-", "sys/bus/pci/devices/0/vendor": "0x8086", "sys/bus/pci/devices/1/vendor": "0x8086"}, map[string]string{"nvidia-smi": "-"}, nil, "GPUs", Skip, "--fake-gpus"},
		{"no driver", files{"proc/driver/nvidia/version": "-"}, map[string]string{"nvidia-smi": "-"}, nil, "GPUs", Fail, "2 on the bus, and no driver"},
		{"no nvidia-smi", nil, map[string]string{"nvidia-smi": "-"}, nil, "GPUs", Fail, "not in PATH"},
		{"a driver that was upgraded", nil, map[string]string{"nvidia-smi": "! Failed to initialize NVML: Driver/library version mismatch"}, nil, "GPUs", Fail, "mismatch"},
		{"a GPU that fell off the bus", nil, map[string]string{"nvidia-smi": "0, NVIDIA H100, Enabled, 0"}, nil, "GPUs", Warn, "xid"},
		{"memory errors", nil, map[string]string{"nvidia-smi": "0, NVIDIA H100, Enabled, 0\n1, NVIDIA H100, Enabled, 3"}, nil, "GPUs", Warn, "GPU 1 (3)"},
		{"no ECC", nil, map[string]string{"nvidia-smi": "0, GeForce, Enabled, [N/A]\n1, GeForce, Enabled, [N/A]"}, nil, "GPUs", OK, "2 × GeForce"},
		{"no persistence", nil, map[string]string{"nvidia-smi": "0, NVIDIA H100, Disabled, 0\n1, NVIDIA H100, Disabled, 0"}, nil, "GPUs", Warn, "nvidia-smi -pm 1"},
		{"no CDI", files{"etc/cdi/nvidia.yaml": "-"}, nil, nil, "GPUs in containers", Warn, "nvidia-ctk cdi generate"},
		{"no MPS", files{"proc/77/comm": "bash\n"}, nil, nil, "parts of GPUs", Warn, "nvidia-cuda-mps-control -d"},
		{"a full disk", nil, nil, func(m *Machine) { m.Room = func(string) (unix.Statfs_t, error) { return room(0), nil } }, "disk", Fail, "make room"},
		{"little room", nil, nil, func(m *Machine) { m.Room = func(string) (unix.Statfs_t, error) { return room(20), nil } }, "disk", Warn, "--image-cache"},
		{"NFS", nil, nil, func(m *Machine) {
			m.Room = func(string) (unix.Statfs_t, error) { r := room(200); r.Type = 0x6969; return r, nil }
		}, "disk", Fail, "NFS"},
		{"noexec", nil, nil, func(m *Machine) {
			m.Room = func(string) (unix.Statfs_t, error) { r := room(200); r.Flags = unix.ST_NOEXEC; return r, nil }
		}, "disk", Warn, "noexec"},
		{"few inodes", nil, nil, func(m *Machine) {
			m.Room = func(string) (unix.Statfs_t, error) { r := room(200); r.Ffree = 10; return r, nil }
		}, "disk", Warn, "inodes"},
		{"a long path", nil, nil, func(m *Machine) { m.DataDir += strings.Repeat("/long", 30) }, "socket", Warn, "shorter"},
		{"a clock that nobody sets", nil, nil, func(m *Machine) { m.Synchronized = func() (bool, error) { return false, nil } }, "clock", Warn, "chrony"},
		{"few files", nil, nil, func(m *Machine) { m.Limit = func(int) (uint64, error) { return 1024, nil } }, "open files", Warn, "LimitNOFILE"},
		{"few ports", files{"proc/sys/net/ipv4/ip_local_port_range": "60000 60100"}, nil, nil, "ports", Warn, "ip_local_port_range"},
		{"a name that leads nowhere", files{"proc/sys/kernel/hostname": "nowhere.invalid\n"}, nil, nil, "host name", Warn, "/etc/hosts"},
		{"logind ends what is left", files{"run/systemd/system/x": "", "etc/systemd/logind.conf": "[Login]\nKillUserProcesses=yes\n"}, nil, func(m *Machine) { m.UID = 1000 }, "logout", Warn, "enable-linger"},
	} {
		t.Run(c.what, func(t *testing.T) {
			m := machine(t, c.differs, c.tools)
			if c.change != nil {
				c.change(&m)
			}
			got := named(t, m, c.check)
			if got.Status != c.status {
				t.Errorf("%s is %s, want %s: %+v", c.check, got.Status, c.status, got)
			}
			if !strings.Contains(got.Found+" "+got.Means+" "+got.Fix, c.says) {
				t.Errorf("%+v does not say %q", got, c.says)
			}
			if (got.Status == Warn || got.Status == Fail) && (got.Means == "" || got.Fix == "") {
				t.Errorf("%+v does not say what it means or how to mend it", got)
			}
		})
	}
}

// TestWhoMayWriteToTheDataDirectory needs real directories.
func TestWhoMayWriteToTheDataDirectory(t *testing.T) {
	m := machine(t, nil, nil)
	m.UID = os.Geteuid()
	if err := os.Mkdir(m.DataDir, 0o700); err != nil {
		t.Fatal(err)
	}
	if c := m.directory(); c.Status != OK {
		t.Errorf("a directory of one's own: %+v", c)
	}
	if err := os.Chmod(m.DataDir, 0o777); err != nil {
		t.Fatal(err)
	}
	if c := m.directory(); c.Status != Warn || !strings.Contains(c.Fix, "chmod go-w") {
		t.Errorf("a directory for everybody: %+v", c)
	}
	if err := errors.Join(os.Chmod(m.DataDir, 0o700), os.WriteFile(filepath.Join(m.DataDir, "secrets.key"), nil, 0o644)); err != nil {
		t.Fatal(err)
	}
	if c := m.directory(); c.Status != Warn || !strings.Contains(c.Fix, "chmod 600") {
		t.Errorf("a key that everybody reads: %+v", c)
	}
	m.UID++
	if c := m.directory(); c.Status != Fail {
		t.Errorf("a directory of another user: %+v", c)
	}
}
