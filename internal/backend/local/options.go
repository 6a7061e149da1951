// Package local makes this machine one node and runs tasks as its processes.
//
// The tasks belong to a supervisor: one small helper process per data directory,
// the same binary under another argument, that starts, supervises and reaps
// them. The server only talks to it over a unix socket, so tasks outlive the
// server; and everything needed to go on lies in files, so tasks also outlive
// the supervisor: the next one adopts them.
//
//	server ── unix socket ──► supervisor ── fork ──► task (own session, own cgroup)
//	   │                        │  ◄── FIFO ── stdout and stderr
//	   └── reads ── logs ◄──────┘
//
// The package decides nothing about workloads. It fails with backend.ErrUnreachable
// when the supervisor can be neither reached nor started, and on anything but Linux
// with backend.ErrUnsupported.
package local

import (
	"fmt"
	"path/filepath"
	"time"

	"github.com/musterhq/muster/internal/core"
)

// SupervisorArg is the first argument of a process that is to be a supervisor. A main
// function (or TestMain) that opens this backend begins with
//
//	if len(os.Args) > 1 && os.Args[1] == local.SupervisorArg {
//		os.Exit(supervisor.Main(os.Args[2:]))
//	}
const SupervisorArg = "__supervisor"

// BackendName is this backend's name in core.Node.Backend.
const BackendName = "local"

// Options say where the backend keeps its things. Only Dir is needed.
type Options struct {
	Dir        string        // records, lock and socket of the supervisor; made if missing
	LogDir     string        // output of tasks; default Dir/logs
	LogReserve int64         // bytes of the file system that logs leave free; 0: 64 MiB or 2 %, whichever is less
	Exe        []string      // how to start a supervisor; default /proc/self/exe __supervisor
	NodeName   core.NodeID   // default: the host name
	Pool       string        // default: "default"
	FakeCPUs   int           // pretend to have this many CPUs, with 8 GiB of memory each; 0: what the machine has
	FakeGPUs   int           // pretend to have this many GPUs instead of looking for real ones
	Linger     time.Duration // how long a supervisor without tasks and clients stays; default 5 s

	As          *AsSubmitter  // nil: tasks run as the user of the server, or as their documents say
	Images      Images        // where container images come from; nil: containers are refused
	Engine      string        // the OCI runtime; default: runc in PATH
	PullBackoff time.Duration // wait before the second pull of an image, doubling up to 30 times as much; default 10 s
	CDIDirs     []string      // device descriptions; default /etc/cdi and /var/run/cdi
}

func (o Options) complete() (Options, error) {
	if o.Dir == "" {
		return o, fmt.Errorf("local backend: Dir is empty; name the directory for the records of tasks")
	}
	if o.FakeCPUs < 0 || o.FakeCPUs > 65536 {
		return o, fmt.Errorf("local backend: FakeCPUs is %d; allowed are 0 to 65536", o.FakeCPUs)
	}
	if o.FakeGPUs < 0 || o.FakeGPUs > 1024 {
		return o, fmt.Errorf("local backend: FakeGPUs is %d; allowed are 0 to 1024", o.FakeGPUs)
	}
	if o.LogReserve < 0 {
		return o, fmt.Errorf("local backend: LogReserve is %d bytes; allowed are 0 (the default) and more", o.LogReserve)
	}
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return o, fmt.Errorf("local backend: Dir %q: %w", o.Dir, err)
	}
	o.Dir = dir
	if o.LogDir == "" {
		o.LogDir = filepath.Join(dir, "logs")
	}
	if o.LogDir, err = filepath.Abs(o.LogDir); err != nil {
		return o, fmt.Errorf("local backend: LogDir %q: %w", o.LogDir, err)
	}
	if len(o.Exe) == 0 {
		o.Exe = []string{"/proc/self/exe", SupervisorArg}
	}
	if o.Pool == "" {
		o.Pool = "default"
	}
	if o.Linger <= 0 {
		o.Linger = 5 * time.Second
	}
	if o.Engine == "" {
		o.Engine = "runc"
	}
	if o.PullBackoff <= 0 {
		o.PullBackoff = 10 * time.Second
	}
	if o.CDIDirs == nil {
		o.CDIDirs = []string{"/etc/cdi", "/var/run/cdi"}
	}
	return o, nil
}
