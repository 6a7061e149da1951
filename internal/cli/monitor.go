package cli

import (
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/musterhq/muster/internal/cli/session"
	"github.com/musterhq/muster/internal/core/spec"
)

// MonitorOptions say what a server measures and tells of itself.
type MonitorOptions struct {
	SampleEvery  time.Duration // how often it looks at what is used
	SeriesMemory int64         // for the day of measurements that it keeps, in bytes
	// OTLP is the URL of the receiver of traces; empty: there are none. Headers
	// go with every request to it, NAME=VALUE each.
	OTLP        string
	OTLPHeaders []string
}

// monitorFlags are the words of MonitorOptions.
type monitorFlags struct {
	every, memory, otlp string
	headers             []string
}

func (m *monitorFlags) flags(f *pflag.FlagSet) {
	f.StringVar(&m.every, "sample-every", "10s", "how often to look at what tasks, GPUs and nodes use; 1s to 1m")
	f.StringVar(&m.memory, "series-memory", "64Mi", "how much memory the built-in day of measurements may take")
	f.StringVar(&m.otlp, "otlp-endpoint", "", "send a trace of every workload's life to this OTLP/HTTP receiver, like http://otel:4318; by default none is made")
	f.StringArrayVar(&m.headers, "otlp-header", nil, "NAME=VALUE to send with every request to --otlp-endpoint; repeat for several")
}

func (m *monitorFlags) read(o *MonitorOptions) error {
	d, err := spec.ParseDuration(m.every)
	if err != nil || d.Std() < time.Second || d.Std() > time.Minute {
		return session.UsageError(fmt.Sprintf("--sample-every: %q is not a length of time from 1s to 1m", m.every), "10s is usual")
	}
	size, err := spec.ParseQuantity(m.memory)
	if err != nil || size.Units() < 1<<20 || size.Units() > 64<<30 {
		return session.UsageError(fmt.Sprintf("--series-memory: %q is not a size from 1Mi to 64Gi", m.memory), "64Mi is enough for about 1000 GPUs and 2000 tasks")
	}
	if u, err := url.Parse(m.otlp); m.otlp != "" && (err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https") {
		return session.UsageError(fmt.Sprintf("--otlp-endpoint: %q is not a URL", m.otlp), "like http://otel:4318; /v1/traces is added to it")
	}
	for _, h := range m.headers {
		if name, _, ok := strings.Cut(h, "="); !ok || name == "" || strings.ContainsAny(h, "\r\n") || strings.ContainsAny(name, " :") {
			return session.UsageError(fmt.Sprintf("--otlp-header: %q is not NAME=VALUE", h), "like Authorization=Bearer …")
		}
	}
	*o = MonitorOptions{SampleEvery: d.Std(), SeriesMemory: size.Units(), OTLP: m.otlp, OTLPHeaders: m.headers}
	return nil
}
