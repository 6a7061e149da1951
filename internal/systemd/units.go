// Package systemd writes the units by which systemd runs a server, and asks its
// manager to take them up. systemd.unit(5), systemd.service(5), systemd.socket(5)
// and systemd.exec(5) say what each line means.
package systemd

import (
	"fmt"
	"strings"

	"github.com/musterhq/muster/internal/core/osuser"
)

// Names of the units.
const (
	ServiceName = "muster.service"
	SocketName  = "muster.socket"
)

// SystemSocket is where a server of the whole machine listens.
const SystemSocket = "/run/muster/muster.sock"

// mark begins every unit that is ours to change and to remove.
const mark = "# Written by muster server install; muster server uninstall removes it."

// Unit is a server as systemd is to run it.
type Unit struct {
	Program string   // absolute path
	Args    []string // of the program, without "server"
	DataDir string
	Socket  string // path at which systemd listens
	Path    string // PATH of the server, in which it finds runc and nvidia-smi
	System  bool   // of the machine, else of its user
	User    string // of a System unit
	Group   string // who may use the socket of a System unit beside User; "": nobody
	Local   bool   // tasks run on this machine, as children of the server
	// AsSubmitter says that they run as who submits them: everybody on the machine uses
	// the socket, and the server is root with no more rights than that takes.
	AsSubmitter bool
}

// confined is what a server that runs nothing on its own machine is refused. Tasks
// inherit what their server is refused, so that none of it holds where work runs on
// the machine itself: a task may be anything that its user may be.
const confined = `NoNewPrivileges=yes
CapabilityBoundingSet=
ProtectSystem=strict
ProtectHome=read-only
PrivateTmp=yes
PrivateDevices=yes
ProtectClock=yes
ProtectControlGroups=yes
ProtectHostname=yes
ProtectKernelLogs=yes
ProtectKernelModules=yes
ProtectKernelTunables=yes
ProtectProc=invisible
RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK
RestrictNamespaces=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
LockPersonality=yes
MemoryDenyWriteExecute=yes
SystemCallArchitectures=native
SystemCallFilter=@system-service
UMask=0077
`

// boundOf is the bound on what a server of root may do whose tasks run as who submits
// them: neither it nor anything that it starts gets more.
func boundOf() string {
	var names []string
	for _, c := range osuser.Capabilities {
		names = append(names, c.Name)
	}
	return "CapabilityBoundingSet=" + strings.Join(names, " ") + "\n"
}

// Service is the text of the service's unit.
func (u Unit) Service() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n[Unit]\nDescription=Muster, which runs AI workloads\nDocumentation=https://github.com/musterhq/muster\n", mark)
	fmt.Fprintf(&b, "Requires=%s\nAfter=%s\n", SocketName, SocketName)
	if u.System {
		b.WriteString("Wants=network-online.target\nAfter=network-online.target\n")
	}
	args := append([]string{u.Program, "server", "--data-dir", u.DataDir}, u.Args...)
	for i := range args {
		args[i] = quoted(args[i], true)
	}
	// What the server has started goes on while it is away (KillMode), in groups that
	// are its own to divide (Delegate); a task that runs out of memory is its own
	// failure and not the server's (OOMPolicy).
	fmt.Fprintf(&b, `
[Service]
Type=notify
ExecStart=%s
Environment=%s
Restart=on-failure
RestartSec=2
TimeoutStartSec=15min
TimeoutStopSec=90
KillMode=process
Delegate=yes
OOMPolicy=continue
LimitNOFILE=524288
TasksMax=infinity
`, strings.Join(args, " "), quoted("PATH="+u.Path, false))
	target := "default.target"
	if u.System {
		target = "multi-user.target"
		fmt.Fprintf(&b, "User=%s\n", u.User)
		if u.DataDir == "/var/lib/muster" {
			b.WriteString("StateDirectory=muster\nStateDirectoryMode=0700\n")
		}
		if u.Local {
			b.WriteString("LimitMEMLOCK=infinity\n")
		}
		if u.AsSubmitter {
			b.WriteString(boundOf())
		}
	}
	if !u.Local {
		b.WriteString(confined)
		if u.DataDir != "/var/lib/muster" || !u.System {
			fmt.Fprintf(&b, "ReadWritePaths=%s\n", quoted(u.DataDir, false))
		}
	}
	fmt.Fprintf(&b, "\n[Install]\nWantedBy=%s\nAlso=%s\n", target, SocketName)
	return b.String()
}

// SocketUnit is the text of the socket's unit: systemd listens, so that no command
// is refused while a server starts or is replaced.
func (u Unit) SocketUnit() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n[Unit]\nDescription=Where commands reach Muster\n\n[Socket]\nListenStream=%s\n", mark, strings.ReplaceAll(u.Socket, "%", "%%"))
	mode := "0600"
	if u.System {
		fmt.Fprintf(&b, "SocketUser=%s\n", u.User)
		switch {
		case u.Group != "":
			mode = "0660"
			fmt.Fprintf(&b, "SocketGroup=%s\n", u.Group)
		case u.AsSubmitter: // who comes is who the kernel says
			mode = "0666"
		}
		b.WriteString("DirectoryMode=0755\n")
	} else {
		b.WriteString("DirectoryMode=0700\n")
	}
	fmt.Fprintf(&b, "SocketMode=%s\nRemoveOnStop=yes\n\n[Install]\nWantedBy=sockets.target\n", mode)
	return b.String()
}

// quoted writes a word of a unit as systemd reads it back: '%' begins a specifier
// anywhere, '$' a variable in commands only.
func quoted(word string, command bool) string {
	plain := word != ""
	for _, r := range word {
		if !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-=:,@+", r) {
			plain = false
		}
	}
	if plain {
		return word
	}
	r := []string{`\`, `\\`, `"`, `\"`, "\n", `\n`, "\t", `\t`, "%", "%%"}
	if command {
		r = append(r, "$", "$$")
	}
	return `"` + strings.NewReplacer(r...).Replace(word) + `"`
}

// Ours reports whether a unit was written by this package.
func Ours(text string) bool { return strings.HasPrefix(text, mark) }

// DataDirOf is the data directory in the text of a service, "" in others.
func DataDirOf(text string) string {
	_, rest, ok := strings.Cut(text, " --data-dir ")
	if !ok {
		return ""
	}
	if q, ok := strings.CutPrefix(rest, `"`); ok {
		end := strings.Index(strings.ReplaceAll(q, `\"`, "__"), `"`)
		if end < 0 {
			return ""
		}
		return strings.NewReplacer(`\\`, `\`, `\"`, `"`, "%%", "%", "$$", "$").Replace(q[:end])
	}
	return strings.Fields(rest)[0]
}
