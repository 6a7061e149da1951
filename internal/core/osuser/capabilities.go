package osuser

// Capability is a right of root's (capabilities(7)).
type Capability struct {
	Name   string
	Number int
	For    string // what a server whose tasks run as who submits them does with it
}

// Capabilities are what a server of root needs whose tasks run as who submits them.
// The rest of what root may do it can be without, and its tasks have none at all.
var Capabilities = []Capability{
	{"CAP_SETUID", 7, "to become who submitted"},
	{"CAP_SETGID", 6, "to be in their groups"},
	{"CAP_CHOWN", 0, "to give them their files"},
	{"CAP_KILL", 5, "to end their processes"},
	{"CAP_SYS_PTRACE", 19, "to find their processes again, and to take over their terminals"},
	{"CAP_DAC_OVERRIDE", 1, "to read and remove what their tasks leave"},
	{"CAP_FOWNER", 3, "to unpack images, whose files belong to many"},
	{"CAP_FSETID", 4, "to unpack images with their modes"},
	{"CAP_SETFCAP", 31, "to unpack images with the capabilities of files"},
	{"CAP_MKNOD", 27, "to unpack images, and to make devices of containers"},
	{"CAP_SYS_ADMIN", 21, "to mount images, and for the namespaces of containers"},
	{"CAP_SYS_CHROOT", 18, "to make containers"},
	{"CAP_SETPCAP", 8, "to take rights from containers"},
	{"CAP_NET_BIND_SERVICE", 10, "to listen on ports below 1024"},
}

// Missing are those of Capabilities that a mask of /proc/PID/status does not have.
func Missing(mask uint64) []Capability {
	var out []Capability
	for _, c := range Capabilities {
		if mask&(1<<c.Number) == 0 {
			out = append(out, c)
		}
	}
	return out
}
