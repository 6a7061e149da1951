// Package archtest checks who imports whom. A rule without a check is a wish.
package archtest

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/musterhq/muster/"

// rule says what a package may import of this module, and why it is so.
type rule struct {
	pkg  string   // prefix, without the module
	may  []string // prefixes, without the module
	why  string
	not  []string // packages that it may not, though may names what they are in
	std  []string // where set: the only packages of the standard library
	libs []string // where set with std: the only other modules
}

// pure computes. Of sync it is OnceValue: tables that are made when they are first
// asked for, as each command would otherwise make those of all others.
var pure = []string{"bytes", "cmp", "compress/gzip", "container/heap", "encoding/base64", "encoding/json", "errors", "fmt", "hash/fnv", "io", "iter", "maps", "math", "path", "reflect", "regexp", "slices", "sort", "strconv", "strings", "sync", "time", "unicode", "unicode/utf8"}

// sealing is what internal/secret needs beside: ciphers, and a file for the keys.
var sealing = append([]string{"crypto/aes", "crypto/cipher", "crypto/hmac", "crypto/rand", "crypto/sha256", "encoding/binary", "encoding/hex", "encoding/pem", "io/fs", "os", "path", "path/filepath", "syscall"}, pure...)

// groupsOfRoutes is what every group of the server's routes may use.
var groupsOfRoutes = []string{"internal/server/access", "internal/server/problem", "internal/server/reader", "internal/server/request", "internal/server/wire", "internal/control", "internal/engine", "internal/convert", "internal/core", "internal/store", "internal/backend", "internal/timeseries", "internal/reported", "internal/nodepast", "internal/sharelink", "api"}

// rules are looked up by the longest prefix.
var rules = []rule{
	{pkg: "internal/core", may: []string{"internal/core"}, std: pure, libs: []string{"github.com/goccy/go-yaml"}, why: "core is pure: no I/O, no clock, no chance, no logging"},
	{pkg: "internal/core/schedule/forecast", may: []string{"internal/core"}, std: pure, why: "a forecast is cycles over a copy of the state"},
	{pkg: "internal/core/schedule/explain", may: []string{"internal/core"}, std: pure, why: "an explanation tries cycles and looks at the state; it knows no forecast"},
	{pkg: "internal/core/schedule/cycle", may: []string{"internal/core"}, std: pure, why: "a plan follows from the state; it is not explained here"},
	{pkg: "internal/core/schedule/displace", may: []string{"internal/core"}, std: pure, why: "who leaves for whom follows from the state; it knows neither bookings nor the order of actions"},
	{pkg: "internal/core/schedule/booking", may: []string{"internal/core"}, std: pure, why: "who starts when follows from the state; who leaves for whom is decided elsewhere"},
	{pkg: "internal/core/schedule/place", may: []string{"internal/core"}, std: pure, why: "where tasks go follows from the state; who is placed is decided elsewhere"},
	{pkg: "internal/core/schedule/state", may: []string{"internal/core"}, std: append([]string{"runtime/debug"}, pure...), why: "what is known; a fault of the scheduler is handed out with the stack"},
	{pkg: "internal/core/schedule/queues", may: []string{"internal/core"}, std: pure, why: "what queues hold and may hold; it knows nothing of cycles"},
	{pkg: "internal/core/schedule/ledger", may: []string{"internal/core"}, std: pure, why: "who holds what; who is served is known above"},
	{pkg: "internal/core/schedule", may: []string{"internal/core"}, std: pure, why: "what the scheduler is given and answers, as values"},
	{pkg: "internal/core/spec/codec", may: nil, std: pure, libs: []string{"github.com/goccy/go-yaml"}, why: "what is written somewhere is known before what it means"},
	{pkg: "internal/core/spec/schema", may: []string{"internal/core/spec/codec", "internal/core/nearest"}, std: pure, why: "how fields are read does not depend on which there are"},
	{pkg: "internal/store/sqlstore", may: []string{"internal/store", "internal/core"}, why: "a store knows records, not what is done with them"},
	{pkg: "internal/store", may: []string{"internal/store", "internal/core"}, why: "a store knows records, not what is done with them"},
	{pkg: "internal/backend/local", may: []string{"internal/rootfs", "internal/backend", "internal/core", "internal/oci"}, why: "the local backend has its images from oci; it knows nothing of queues, stores or the control plane"},
	{pkg: "internal/backend/logfile", may: []string{"internal/backend", "internal/core"}, why: "a log on disk knows no processes, containers or clusters"},
	{pkg: "internal/backend", may: []string{"internal/backend", "internal/core"}, why: "backends know nothing of queues, stores or the control plane"},
	{pkg: "internal/backend/kube/naming", may: []string{"internal/backend", "internal/core"}, std: append([]string{"crypto/sha256", "encoding/hex"}, pure...), libs: []string{"k8s.io/api"}, why: "names follow from tasks alone"},
	{pkg: "internal/backend/kube/podstatus", may: []string{"internal/backend/kube/naming", "internal/backend", "internal/core"}, std: pure, libs: []string{"k8s.io/api"}, why: "how a task fares follows from its pod: nobody is asked"},
	{pkg: "internal/backend/kube/resources", may: []string{"internal/backend/kube/naming", "internal/backend", "internal/core"}, std: pure, libs: []string{"k8s.io/api", "k8s.io/apimachinery"}, why: "amounts follow from nodes and pods: nobody is asked"},
	{pkg: "internal/backend/kube/apicall", may: []string{"internal/backend", "internal/core"}, why: "what errors of the API server mean, and how often it is asked, holds for every call"},
	{pkg: "internal/backend/kube/tokenreview", may: []string{"internal/core"}, why: "whose a token is needs to know nothing of what runs"},
	{pkg: "internal/backend/kube/podexec", may: []string{"internal/backend/kube/naming", "internal/backend/kube/podstatus", "internal/backend", "internal/core"}, why: "who runs commands in containers needs to know no more of a task than where it is"},
	{pkg: "internal/backend/kube/podlog", may: []string{"internal/backend/kube/apicall", "internal/backend/kube/naming", "internal/backend/kube/podstatus", "internal/backend/logfile", "internal/backend", "internal/core"}, why: "who fetches logs is told of pods, and knows nothing of places and devices"},
	{pkg: "internal/backend/kube/affinity", may: []string{"internal/backend/kube/naming", "internal/backend/kube/podstatus", "internal/backend", "internal/core"}, std: pure, libs: []string{"k8s.io/api", "k8s.io/apimachinery", "k8s.io/klog/v2"}, why: "where a pod may be follows from pods and nodes: nobody is asked"},
	{pkg: "internal/backend/kube/dra", may: []string{"internal/backend/kube/affinity", "internal/backend/kube/naming", "internal/backend/kube/resources", "internal/backend", "internal/core"}, std: pure, libs: []string{"k8s.io/api", "k8s.io/apimachinery"}, why: "what claims have and ask for follows from objects: nobody is asked"},
	{pkg: "internal/backend/kube/podowner", may: []string{"internal/backend/kube/apicall", "internal/backend/kube/naming", "internal/backend", "internal/core"}, why: "who reads owners knows nothing of tasks and nodes"},
	{pkg: "internal/backend/kube/namespace", may: []string{"internal/backend/kube/naming", "internal/core"}, std: pure, libs: []string{"k8s.io/api", "k8s.io/apimachinery"}, why: "whose a namespace is follows from its labels: nobody is asked"},
	{pkg: "internal/backend/kube/cluster", may: []string{"internal/backend/kube/affinity", "internal/backend/kube/apicall", "internal/backend/kube/dra", "internal/backend/kube/namespace", "internal/backend/kube/naming", "internal/backend/kube/nodeinfo", "internal/backend/kube/podowner", "internal/backend/kube/podstatus", "internal/backend/kube/resources", "internal/backend", "internal/core"}, why: "how a cluster is reached and who drives it is known below what is done with it"},
	{pkg: "internal/backend/kube/tasks", may: []string{"internal/backend/kube/naming", "internal/backend/kube/podstatus", "internal/backend", "internal/core"}, why: "what is known of tasks is remembered: nobody is asked"},
	{pkg: "internal/backend/kube/volume", may: []string{"internal/backend/kube/cluster", "internal/backend/kube/affinity", "internal/backend/kube/apicall", "internal/backend/kube/dra", "internal/backend/kube/namespace", "internal/backend/kube/naming", "internal/backend/kube/nodeinfo", "internal/backend/kube/podowner", "internal/backend/kube/podstatus", "internal/backend/kube/resources", "internal/backend", "internal/core"}, why: "where volumes can be used is known without tasks"},
	{pkg: "internal/backend/kube/fraction", may: []string{"internal/backend/kube/cluster", "internal/backend/kube/tasks", "internal/backend/kube/affinity", "internal/backend/kube/apicall", "internal/backend/kube/dra", "internal/backend/kube/namespace", "internal/backend/kube/naming", "internal/backend/kube/nodeinfo", "internal/backend/kube/podowner", "internal/backend/kube/podstatus", "internal/backend/kube/resources", "internal/backend", "internal/core"}, why: "who shares a GPU follows from reservations and tasks; how tasks are made is known elsewhere"},
	{pkg: "internal/backend/kube/podgroup", may: []string{"internal/backend/kube/cluster", "internal/backend/kube/tasks", "internal/backend/kube/volume", "internal/backend/kube/podlog", "internal/backend/kube/affinity", "internal/backend/kube/apicall", "internal/backend/kube/dra", "internal/backend/kube/namespace", "internal/backend/kube/naming", "internal/backend/kube/nodeinfo", "internal/backend/kube/podowner", "internal/backend/kube/podstatus", "internal/backend/kube/resources", "internal/backend", "internal/core"}, why: "others' pods are placed as they are; how ours are made is known elsewhere"},
	{pkg: "internal/backend/kube/podspec", may: []string{"internal/backend/kube/apicall", "internal/backend/kube/cluster", "internal/backend/kube/naming", "internal/backend/kube/podstatus", "internal/backend/kube/resources", "internal/backend", "internal/core"}, why: "what a pod is like follows from its task and its node: nobody is asked"},
	{pkg: "internal/backend/kube/service", may: []string{"internal/backend/kube/cluster", "internal/backend/kube/naming", "internal/backend/kube/tasks", "internal/backend", "internal/core"}, why: "services belong to attempts; what their pods are like is known elsewhere"},
	{pkg: "internal/backend/kube/usage", may: []string{"internal/backend/kube/cluster", "internal/backend/kube/tasks", "internal/backend", "internal/core"}, why: "who asks kubelets needs to know of a task where it is"},
	{pkg: "internal/backend/kube/taskpods", may: []string{"internal/backend/kube/affinity", "internal/backend/kube/apicall", "internal/backend/kube/cluster", "internal/backend/kube/dra", "internal/backend/kube/namespace", "internal/backend/kube/naming", "internal/backend/kube/nodeinfo", "internal/backend/kube/podowner", "internal/backend/kube/podstatus", "internal/backend/kube/resources", "internal/backend/kube/fraction", "internal/backend/kube/podexec", "internal/backend/kube/podgroup", "internal/backend/kube/podlog", "internal/backend/kube/podspec", "internal/backend/kube/service", "internal/backend/kube/tasks", "internal/backend/kube/volume", "internal/backend", "internal/core"}, why: "pods come and go below the backend, which only hands on what it is asked"},
	{pkg: "internal/backend/kube/nodeinfo", may: []string{"internal/backend/kube/affinity", "internal/backend/kube/dra", "internal/backend/kube/naming", "internal/backend/kube/resources", "internal/core"}, why: "nodes are told what is on them, and know no tasks' pods and no API server"},
	{pkg: "internal/secret", may: []string{"internal/secret", "internal/core", "internal/backend"}, std: sealing, why: "what seals values is small, and of others' code it trusts the standard library only"},
	{pkg: "internal/backend/local/cgroup", may: []string{"internal/backend/local/proc"}, why: "control groups are had by name and limits; what runs in them is for others to know"},
	{pkg: "internal/backend/local/gpu", may: []string{"internal/backend", "internal/core", "internal/backend/local/container"}, why: "GPUs are asked of the driver; who has which is in an assignment"},
	{pkg: "internal/rootfs", may: nil, why: "a file tree is made of directories; it knows neither images nor tasks"},
	{pkg: "internal/backend/local/protocol", may: []string{"internal/backend", "internal/core", "internal/backend/local/container"}, why: "both processes speak it, so it knows neither"},
	{pkg: "internal/backend/local/supervisor", may: []string{
		"internal/backend", "internal/backend/logfile", "internal/core", "internal/backend/local/cgroup", "internal/backend/local/container", "internal/backend/local/gpu",
		"internal/backend/local/proc", "internal/backend/local/protocol", "internal/rootfs", "internal/backend/local/taskdir",
	}, why: "the supervisor is another process than the server: it pulls no images"},
	{pkg: "internal/backend/local/taskdir", may: []string{"internal/backend", "internal/backend/logfile", "internal/core", "internal/backend/local/cgroup", "internal/backend/local/protocol"}, why: "records are read by both processes, so they know neither"},
	{pkg: "internal/backend/local/proc", may: nil, why: "what the kernel says of processes is the same whoever started them"},
	{pkg: "internal/backend/local/container", may: nil, std: append([]string{"io/fs"}, pure...), libs: []string{"github.com/opencontainers/runtime-spec"}, why: "what a container is follows from values alone"},
	{pkg: "internal/naming", may: []string{"internal/core"}, why: "identifiers and names are made of the time and of chance that are given"},
	{pkg: "internal/engine/estimate", may: []string{"internal/core", "internal/store"}, why: "what is learnt of lengths and misses needs to know no engine"},
	{pkg: "internal/engine/workload", may: []string{"internal/core"}, why: "what is read off a workload and its tasks needs nothing else"},
	{pkg: "internal/engine/launch", may: []string{"internal/core", "internal/backend", "internal/engine/workload"}, why: "what a task is given follows from values"},
	{pkg: "internal/engine/explanation", may: []string{"internal/engine", "internal/core", "internal/backend"}, why: "an explanation reads a draft and the scheduler's state, and changes neither"},
	{pkg: "internal/engine/report", may: []string{"internal/engine", "internal/core"}, why: "reports read a draft"},
	{pkg: "internal/engine/organisation", may: []string{"internal/engine", "internal/core", "internal/store"}, why: "its use cases change a draft, which is the engine's"},
	{pkg: "internal/core/address", may: nil, std: append([]string{"net/netip"}, pure...), why: "whom the server calls follows from the address and what it knows of itself"},
	{pkg: "internal/core/audit", may: []string{"internal/core"}, std: append([]string{"crypto/sha256", "encoding/hex"}, pure...), why: "an entry's hash follows from the entry and the one before"},
	{pkg: "internal/engine/access", may: []string{"internal/engine", "internal/core"}, why: "its use cases change a draft, which is the engine's"},
	{pkg: "internal/engine/submission", may: []string{"internal/engine", "internal/core", "internal/store"}, why: "its use cases change a draft, which is the engine's"},
	{pkg: "internal/engine/review", may: []string{"internal/engine", "internal/core"}, why: "its use cases change a draft, which is the engine's"},
	{pkg: "internal/engine/agenda", may: []string{"internal/engine/workload", "internal/core"}, why: "when something is due follows from records"},
	{pkg: "internal/engine/accounts", may: []string{"internal/core"}, why: "what was used follows from what is told"},
	{pkg: "internal/engine/draft", may: []string{"internal/engine/accounts", "internal/engine/agenda", "internal/engine/workload", "internal/engine/launch", "internal/engine/estimate", "internal/core", "internal/store", "internal/backend"}, why: "state and draft know nothing of what follows from them"},
	{pkg: "internal/engine/planner", may: []string{"internal/engine/draft", "internal/engine/workload", "internal/core"}, why: "the scheduler is told of a draft; what follows from its plans is drawn above"},
	{pkg: "internal/engine/checking", may: []string{"internal/engine/draft", "internal/core"}, why: "what checks hold is read off a draft; what follows is drawn above"},
	{pkg: "internal/engine/consequence", may: []string{"internal/engine/accounts", "internal/engine/checking", "internal/engine/draft", "internal/engine/workload", "internal/engine/planner", "internal/core", "internal/backend", "internal/store"}, why: "consequences know drafts, and no use case"},
	{pkg: "internal/engine", may: []string{"internal/engine", "internal/core", "internal/store", "internal/backend"}, why: "the engine decides from values that it is given, and acts through contracts"},
	{pkg: "internal/nodepast", may: []string{"internal/wholefile"}, why: "how well nodes were is told, and not asked"},
	{pkg: "internal/waited", may: []string{"internal/wholefile"}, why: "sums of hours know not who counts them"},
	{pkg: "internal/control", may: []string{"internal/control", "internal/engine", "internal/core", "internal/store", "internal/backend", "internal/timeseries", "internal/waited", "internal/nodepast"}, why: "control is the engine in real time: loops, clocks and queues; main gives it implementations"},
	{pkg: "internal/operations", may: []string{"internal/operations", "internal/control", "internal/engine", "internal/core", "internal/notify", "internal/oci", "internal/store"}, why: "operations do what control asks for; they know no backends and no API"},
	{pkg: "internal/notify", may: []string{"internal/notify", "internal/core", "internal/wholefile"}, why: "what sends knows an outbox, and neither what fills it nor the API"},
	{pkg: "internal/serviceproxy", may: []string{"internal/serviceproxy", "internal/control", "internal/engine", "internal/core", "internal/backend", "internal/store", "internal/timeseries"}, why: "a service carries requests; what follows from them control decides"},
	{pkg: "internal/timeseries", may: nil, why: "a day of numbers knows not what they are of"},
	{pkg: "internal/reported", may: nil, why: "curves know not what they are of, nor who has said so"},
	{pkg: "internal/weekly", may: []string{"internal/wholefile", "api"}, why: "a report is said of what the API tells, and knows not who has asked, nor how mail is sent"},
	{pkg: "internal/sharelink", may: []string{"internal/core", "internal/wholefile"}, why: "links know not what they show, nor who has asked"},
	{pkg: "internal/telemetry", may: []string{"internal/control", "internal/engine", "internal/core", "internal/timeseries"}, why: "what counts is told what happened, and decides nothing"},
	{pkg: "internal/mpi", may: nil, why: "both ends of the agent run beside tasks and know nothing of the rest"},
	{pkg: "internal/slurmtools", may: []string{"internal/mpi", "internal/rootfs", "internal/convert", "internal/core", "api"}, why: "what a batch script finds runs beside tasks; it knows the agents, how Slurm writes things, and how a container's file tree is made"},
	{pkg: "internal/convert/source", may: []string{"internal/core"}, std: pure, why: "what readers share knows no format"},
	{pkg: "internal/convert/kubernetes/cron", may: []string{"internal/convert/source", "internal/core"}, std: pure, why: "when something runs is read alike, whatever runs then"},
	{pkg: "internal/convert/kubernetes/podnames", may: []string{"internal/convert/source", "internal/core"}, std: pure, why: "names are put into documents, whatever these are read from"},
	{pkg: "internal/convert/kubernetes/servedmodels", may: []string{"internal/convert/source", "internal/core"}, std: pure, why: "which image serves a model its format says, whatever reads the rest"},
	{pkg: "internal/convert/kubernetes", may: []string{"internal/convert/source", "internal/convert/kubernetes/cron", "internal/convert/kubernetes/podnames", "internal/convert/kubernetes/servedmodels", "internal/core"}, std: pure, why: "a format knows no other format"},
	{pkg: "internal/convert/mcli", may: []string{"internal/convert/source", "internal/core"}, std: pure, why: "a format knows no other format"},
	{pkg: "internal/convert/runai", may: []string{"internal/convert/source", "internal/core"}, std: pure, libs: []string{"mvdan.cc/sh/v3"}, why: "a format knows no other format"},
	{pkg: "internal/convert/slurmsite", may: []string{"internal/convert/slurm", "internal/core"}, std: pure, libs: []string{"github.com/goccy/go-yaml"}, why: "how a site is divided is no workload: of what readers of those share it needs lengths of time"},
	{pkg: "internal/convert/runaipolicy", may: []string{"internal/core"}, std: pure, why: "a policy is no workload: it needs nothing of what readers of those share"},
	{pkg: "internal/convert/skypilot", may: []string{"internal/convert/source", "internal/core"}, std: pure, why: "a format knows no other format"},
	{pkg: "internal/convert/dstack", may: []string{"internal/convert/source", "internal/core"}, std: pure, why: "a format knows no other format"},
	{pkg: "internal/convert/slurm", may: []string{"internal/convert/source", "internal/core"}, std: pure, why: "a format knows no other format"},
	{pkg: "internal/convert", may: []string{"internal/convert", "internal/core"}, std: pure, why: "converters are pure, as core is: bytes in, documents out"},
	{pkg: "internal/settings", may: []string{"internal/core"}, why: "files of the server's owner are read alike, whatever for"},
	{pkg: "internal/vault", may: []string{"internal/settings", "internal/core"}, why: "where keys are kept knows not what they seal"},
	{pkg: "internal/outward", may: []string{"internal/core/address"}, why: "who is called is judged alike whatever for"},
	{pkg: "internal/oci", may: []string{"internal/core/address"}, why: "images know no workloads, backends or queues"},
	{pkg: "internal/testing/ocitest", may: nil, why: "a registry for tests of any package, those of oci included"},
	{pkg: "internal/server/problem", may: []string{"internal/engine", "internal/core", "internal/store", "internal/backend", "api"}, why: "what is wrong has one form, whoever asked for what"},
	{pkg: "internal/server/request", may: []string{"internal/server/problem", "internal/engine", "internal/core", "api"}, why: "what requests have in common knows no answer"},
	{pkg: "internal/server/wire", may: []string{"internal/server/problem", "internal/engine", "internal/core", "api"}, why: "the form of a value follows from the value: nothing is read for it"},
	{pkg: "internal/server/reader", may: []string{"internal/server/access", "api", "internal/server/problem", "internal/server/request", "internal/server/wire", "internal/control", "internal/core", "internal/store"}, why: "what is read for answers knows no route"},
	{pkg: "internal/signin", may: []string{"internal/settings", "internal/core"}, why: "who proves somebody knows no user, rule or request"},
	{pkg: "internal/signin/ldap", may: []string{"internal/signin", "internal/core"}, why: "who proves somebody knows no user, rule or request"},
	{pkg: "internal/signin/oidc", may: []string{"internal/signin", "internal/core"}, why: "who proves somebody knows no user, rule or request"},
	{pkg: "internal/server/access", may: []string{"internal/server/problem", "internal/server/wire", "internal/engine", "internal/core", "internal/signin", "internal/wholefile", "api"}, why: "who comes in is known before anything is read"},
	{pkg: "internal/server/curves", may: groupsOfRoutes, why: "a group of routes knows no other group"},
	{pkg: "internal/server/enter", may: groupsOfRoutes, why: "a group of routes knows no other group"},
	{pkg: "internal/server/logs", may: groupsOfRoutes, why: "a group of routes knows no other group"},
	{pkg: "internal/server/organisation", may: groupsOfRoutes, why: "a group of routes knows no other group"},
	{pkg: "internal/server/usage", may: groupsOfRoutes, why: "a group of routes knows no other group"},
	{pkg: "internal/server/reviews", may: groupsOfRoutes, why: "a group of routes knows no other group"},
	{pkg: "internal/server/rights", may: groupsOfRoutes, why: "a group of routes knows no other group"},
	{pkg: "internal/server/schedules", may: groupsOfRoutes, why: "a group of routes knows no other group"},
	{pkg: "internal/server/share", may: groupsOfRoutes, why: "a group of routes knows no other group"},
	{pkg: "internal/server/weekmail", may: append([]string{"internal/server/usage", "internal/weekly"}, groupsOfRoutes...), why: "what is mailed is what the route of reports would answer"},
	{pkg: "internal/server/watch", may: groupsOfRoutes, why: "a group of routes knows no other group"},
	{pkg: "internal/server/bulk", may: []string{"internal/server/problem", "internal/server/wire", "api"}, why: "what is done with many is told how to ask one, and knows no workload"},
	{pkg: "internal/server/workloads", may: append([]string{"internal/server/bulk"}, groupsOfRoutes...), why: "a group of routes knows no other group"},
	{pkg: "internal/server", may: []string{"internal/server", "internal/control", "internal/engine", "internal/convert", "internal/core", "internal/store", "internal/backend", "internal/timeseries", "internal/reported", "internal/sharelink", "internal/weekly", "api", "web"}, why: "the API decides nothing and touches no implementation"},
	{pkg: "internal/cli", may: []string{"internal/cli", "internal/convert", "internal/core", "internal/doctor", "internal/handover", "internal/simulate", "internal/systemd", "api", "client"}, why: "the command line is a client like any other; of the server it shares only the pure core and converters, and what runs that in virtual time"},
	{pkg: "internal/cli/terminal", may: []string{"api"}, why: "streams and keys are of any program; of the contract it shares the size of a terminal"},
	{pkg: "internal/cli/session", may: []string{"internal/cli/terminal", "internal/core", "internal/systemd", "internal/wholefile", "api", "client"}, why: "what carries a command out knows no command"},
	{pkg: "internal/cli/printers", may: []string{"internal/cli/session", "internal/cli/terminal", "internal/core", "api"}, why: "how something looks follows from what the server said: no printer asks it"},
	{pkg: "internal/cli/document", may: []string{"internal/cli/session", "internal/cli/terminal", "internal/convert", "internal/core", "api", "client"}, why: "a document is made before anything is done with it"},
	{pkg: "internal/cli/logs", may: []string{"internal/cli/printers", "internal/cli/session", "internal/cli/terminal", "internal/core", "api", "client"}, why: "output is shown by commands that submit as well as by those that look: it knows neither"},
	{pkg: "internal/cli/admin", may: []string{"internal/cli/document", "internal/cli/printers", "internal/cli/session", "internal/cli/terminal", "internal/convert/runaipolicy", "internal/convert/slurmsite", "internal/core", "api", "client"}, why: "records of the place are no workloads: what is done with those it does not know"},
	{pkg: "internal/cli/inspect", may: []string{"internal/cli/admin", "internal/cli/document", "internal/cli/logs", "internal/cli/printers", "internal/cli/session", "internal/cli/terminal", "internal/core", "api", "client"}, why: "get lists records of the place too; what looks changes nothing, and knows nothing that does"},
	{pkg: "internal/cli/enter", may: []string{"internal/cli/inspect", "internal/cli/logs", "internal/cli/printers", "internal/cli/session", "internal/cli/sftp", "internal/cli/sshserver", "internal/cli/terminal", "internal/core", "api", "client"}, why: "who enters a task waits for it and sees what it wrote before; files come over ssh"},
	{pkg: "internal/cli/submit", may: []string{"internal/cli/document", "internal/cli/enter", "internal/cli/inspect", "internal/cli/logs", "internal/cli/printers", "internal/cli/session", "internal/cli/terminal", "internal/convert", "internal/core", "api", "client"}, why: "what is submitted may be waited for, followed and entered at once"},
	{pkg: "internal/cli/review", may: []string{"internal/cli/document", "internal/cli/printers", "internal/cli/session", "internal/cli/terminal", "internal/core", "api", "client"}, why: "what has to be approved is said without knowing what is done"},
	{pkg: "internal/cli/access", may: []string{"internal/cli/printers", "internal/cli/session", "internal/cli/terminal", "internal/core", "api", "client"}, why: "who may do what is said without knowing what is done"},
	{pkg: "internal/cli/reports", may: []string{"internal/cli/printers", "internal/cli/session", "internal/weekly", "api", "client"}, why: "a command knows no other"},
	{pkg: "internal/cli/top", may: []string{"internal/cli/admin", "internal/cli/enter", "internal/cli/inspect", "internal/cli/printers", "internal/cli/session", "internal/cli/terminal", "internal/core", "api", "client"}, why: "a screen shows what the commands print, and enters what is selected"},
	{pkg: "internal/cli/simulate", may: []string{"internal/cli/session", "internal/cli/terminal", "internal/simulate", "internal/core", "api", "client"}, why: "a simulation needs no server: it is given files, and prints reports"},
	{pkg: "internal/cli/sftp", may: []string{}, why: "files over a protocol know nothing of tasks"},
	{pkg: "internal/cli/sshserver", may: []string{"internal/cli/sftp"}, why: "a connection knows files and commands, and nothing of tasks"},
	{pkg: "internal/compat", may: []string{"internal/compat", "internal/cli", "internal/convert", "internal/core", "api", "client"}, why: "other tools' command lines translate words: what muster's own does they have done by it"},
	{pkg: "internal/compat/slurm/terms", may: []string{"internal/compat", "internal/cli", "internal/convert", "internal/core", "api", "client"}, not: []string{"internal/compat/slurm", "internal/compat/slurm/accounting"}, why: "what Slurm's tools have in common knows none of them"},
	{pkg: "internal/compat/slurm/crontab", may: []string{"internal/compat", "internal/cli", "internal/convert", "internal/core", "api", "client"}, not: []string{"internal/compat/slurm", "internal/compat/slurm/accounting"}, why: "a table of jobs is made of schedules: what it shares with the queue's tools is in terms"},
	{pkg: "internal/compat/slurm/accounting", may: []string{"internal/compat", "internal/cli", "internal/convert", "internal/core", "api", "client"}, not: []string{"internal/compat/slurm"}, why: "the record of jobs is read by itself: what it shares with the queue's tools is in terms"},
	{pkg: "internal/simulate", may: []string{"internal/simulate", "internal/core"}, why: "simulations run the pure core on files; they know no server, store or backend"},
	{pkg: "internal/simulate/trace", may: nil, why: "reading a trace needs nothing of ours"},
	{pkg: "internal/testing/sim", may: []string{"internal/testing/sim", "internal/testing/memstore", "internal/testing/fakebackend", "internal/core", "internal/control", "internal/naming", "internal/engine", "internal/store", "internal/backend"}, why: "the simulator drives the real control loop"},
	{pkg: "internal/testing/memstore", may: []string{"internal/store", "internal/core"}, why: "a store for tests knows what a store knows"},
	{pkg: "internal/testing/storetest", may: []string{"internal/store", "internal/core"}, why: "the contract of stores, for those that keep it"},
	{pkg: "internal/testing/fakebackend", may: []string{"internal/backend", "internal/core"}, why: "a backend for tests knows what a backend knows"},
	{pkg: "internal/testing/backendtest", may: []string{"internal/backend", "internal/core"}, why: "the contract of backends, for those that keep it"},
	{pkg: "internal/testing/controltest", may: []string{"internal/control", "internal/naming", "internal/engine", "internal/core", "internal/backend"}, why: "what tests of several packages ask of control"},
	{pkg: "internal/testing/browser", may: nil, why: "what drives a browser knows the pages by what they show"},
	{pkg: "web", may: nil, why: "the pages are files that talk to the API like anyone else"},
	{pkg: "api", may: nil, why: "the contract imports nothing of the server"},
	{pkg: "client", may: []string{"api"}, why: "the client knows the contract only"},
	{pkg: "examples", may: []string{"examples"}, why: "examples are users' programs"},
	{pkg: "internal/operator", may: []string{"internal/operator", "internal/core", "api", "client"}, why: "objects in a cluster are one more way to use the API: whoever serves them is a client"},
	{pkg: "internal/testing/kubetest", may: []string{"internal/testing/ocitest"}, why: "a cluster for tests of any package"},
	{pkg: "deploy", may: nil, why: "what is deployed is files; only tests are there"},
	{pkg: "sdk", may: nil, why: "it is in other languages; only tests are there"},
	{pkg: "internal/testing/testdisk", may: nil, why: "disks for tests of any package"},
	{pkg: "internal/testing/vary", may: nil, why: "it knows texts, and nothing of what they say"},
	{pkg: "internal/testing/chaos", may: []string{"internal/core", "internal/testing/testdisk", "api", "client"}, why: "who checks a whole server knows of it what its users know, and the table"},
	{pkg: "internal/testing/corpus", may: []string{"internal/convert", "internal/core"}, why: "it imports other people's files as the program does, and runs that like its users"},
	{pkg: "internal/testing/ldaptest", may: nil, why: "a directory for tests of any package"},
	{pkg: "internal/testing/postbox", may: nil, why: "a mail server for tests of any package"},
	{pkg: "internal/testing/oidctest", may: nil, why: "an identity provider for tests of any package"},
	{pkg: "internal/testing/acmetest", may: nil, why: "an authority for certificates, for tests of any package"},
	{pkg: "internal/signing", may: nil, why: "keys are text, wherever they are kept"},
	{pkg: "internal/certs", may: nil, why: "whose server shows a certificate matters to nobody who gets one"},
	{pkg: "internal/testing/archtest", may: nil, why: "it only reads"},
	{pkg: "internal/testing/system", may: []string{"internal", "api", "client", "cmd"}, why: "tests of the whole may look at everything"},
	{pkg: "internal/account", may: []string{"internal/core"}, why: "who has an account is asked of the machine; what follows is decided elsewhere"},
	{pkg: "internal/doctor", may: []string{"internal/core/amount", "internal/core/osuser"}, why: "who looks at a machine needs nothing of what will run on it"},
	{pkg: "internal/systemd", may: []string{"internal/core/osuser"}, why: "units are text, with the rights that a server needs, and a socket that was handed over is a socket"},
	{pkg: "internal/backend/kube/rights", may: []string{"internal/doctor"}, why: "what a server may do in a cluster is a list, asked before there is a server"},
	{pkg: "internal/handover", may: []string{"internal/core", "internal/store", "internal/wholefile"}, why: "records go as they are: what they are kept in, and who serves them, is known elsewhere"},
	{pkg: "internal/wholefile", may: nil, why: "a file is a file, whoever keeps something in it"},
	{pkg: "internal/heap", may: nil, why: "memory is memory, whatever it holds"},
	{pkg: "internal/packed", may: nil, why: "what lies at the end of a file needs not be known"},
	{pkg: "internal/program", may: []string{"internal/cli", "internal/control", "internal/doctor", "internal/engine", "internal/handover", "internal/compat", "internal/mpi", "internal/backend", "internal/slurmtools", "api"}, why: "what is started for each command is small: stores, clusters and the server stay out of it"},
	{pkg: "scripts", may: []string{"internal/packed"}, why: "tools of the build stand alone; one puts together what is built"},
	{pkg: "cmd", may: []string{"internal", "api", "client"}, why: "wiring may import everything"},
}

// implementations may be imported only by wiring and tests.
var implementations = []string{"internal/store/sqlstore", "internal/testing/memstore", "internal/backend/local", "internal/backend/kube", "internal/testing/fakebackend", "internal/signin/oidc", "internal/signin/ldap"}

type listed struct {
	ImportPath string
	Imports    []string
	Standard   bool
}

func packages(t *testing.T) []listed {
	t.Helper()
	out, err := exec.Command("go", "list", "-json=ImportPath,Imports", module+"...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var all []listed
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
}

func within(path, prefix string) bool { return path == prefix || strings.HasPrefix(path, prefix+"/") }

func TestImportsFollowTheRules(t *testing.T) {
	all := packages(t)
	if len(all) < 10 {
		t.Fatalf("only %d packages were found", len(all))
	}
	for _, p := range all {
		path := strings.TrimPrefix(p.ImportPath, module)
		r, ok := ruleFor(path)
		if !ok {
			t.Errorf("%s has no rule: add one that says what it may import, and why", path)
			continue
		}
		for _, imp := range p.Imports {
			if broken := check(r, path, imp); broken != "" {
				t.Errorf("%s imports %s: %s (%s)", path, imp, broken, r.why)
			}
		}
	}
}

func ruleFor(path string) (rule, bool) {
	best := rule{}
	for _, r := range rules {
		if within(path, r.pkg) && len(r.pkg) > len(best.pkg) {
			best = r
		}
	}
	return best, best.pkg != ""
}

func check(r rule, path, imp string) string {
	own, ours := strings.CutPrefix(imp, module)
	switch {
	case ours:
		if !slices.ContainsFunc(r.may, func(m string) bool { return within(own, m) }) {
			return "not among what it may import"
		}
		if slices.Contains(r.not, own) {
			return "among what it may not import"
		}
		isImpl := slices.ContainsFunc(implementations, func(i string) bool { return within(own, i) && !within(path, i) })
		if isImpl && !within(path, "cmd") && !within(path, "internal/testing/sim") && !within(path, "internal/testing/system") {
			return "an implementation"
		}
		return ""
	case r.std == nil:
		return ""
	case strings.Contains(strings.Split(imp, "/")[0], "."):
		if !slices.ContainsFunc(r.libs, func(l string) bool { return within(imp, l) }) {
			return "a library that this package may not use"
		}
		return ""
	case !slices.Contains(r.std, imp):
		return "not among the pure packages"
	}
	return ""
}

func TestTheCheckFindsOffenders(t *testing.T) {
	core, _ := ruleFor("internal/core/schedule")
	cli, _ := ruleFor("internal/cli")
	accounting, _ := ruleFor("internal/compat/slurm/accounting")
	for _, c := range []struct {
		r         rule
		path, imp string
		bad       bool
	}{
		{core, "internal/core/schedule", "os", true},
		{core, "internal/core/schedule", "slices", false},
		{core, "internal/core", "github.com/spf13/cobra", true},
		{core, "internal/core", module + "internal/store", true},
		{cli, "internal/cli", module + "internal/control", true},
		{cli, "internal/cli", module + "client", false},
		{accounting, "internal/compat/slurm/accounting", module + "internal/compat/slurm", true},
		{accounting, "internal/compat/slurm/accounting", module + "internal/compat/slurm/terms", false},
	} {
		if got := check(c.r, c.path, c.imp) != ""; got != c.bad {
			t.Errorf("%s importing %s: offends %v, want %v", c.path, c.imp, got, c.bad)
		}
	}
}
