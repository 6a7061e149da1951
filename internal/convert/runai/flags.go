package runai

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/musterhq/muster/internal/convert/source"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/spec"
)

// flag is one flag of the commands of runai that submit.
type flag struct {
	takes source.Arity
	apply func(g *given)
}

// shortFlags are the flags of one letter.
var shortFlags = map[string]string{
	"p": "project", "i": "image", "g": "gpu", "e": "environment", "v": "volume", "l": "label", "a": "annotation", "t": "tty", "s": "service-type", "f": "framework", "h": "help", "d": "debug", "q": "quiet", "c": "command",
}

// Flag reports whether the commands of runai that submit have a flag of
// that name, and whether it takes a value.
func Flag(name string) (value, known bool) {
	f, known := flags()[name]
	return f.takes == source.OneValue, known
}

// Flags are the names of the flags of the commands of runai that submit,
// in order.
func Flags() []string { return slices.Sorted(maps.Keys(flags())) }

// ShortFlag is the flag of a letter; empty: there is none.
func ShortFlag(letter string) string { return shortFlags[letter] }

func nearFlag(name string) string {
	for other := range flags() {
		if strings.ReplaceAll(other, "-", "") == strings.ReplaceAll(name, "-", "") || strings.TrimSuffix(other, "s") == strings.TrimSuffix(name, "s") {
			return "; did you mean --" + other + "?"
		}
	}
	return ""
}

// means is a flag that changes nothing of what is computed.
func means(why string) flag {
	return flag{source.OneValue, func(g *given) { g.record(source.Ignored, false, "", why) }}
}

// loses is a flag that has no counterpart in Muster.
func loses(why string) flag {
	return flag{source.OneValue, func(g *given) { g.record(source.Ignored, true, "", why) }}
}

// bare is a flag without a value; false where it is given as =false.
func (f flag) bare() flag {
	apply := f.apply
	return flag{source.OptionalValue, func(g *given) {
		if g.value == "false" {
			g.record(source.Translated, false, "", "it is off")
			return
		}
		if g.value != "" && g.value != "true" {
			g.refuse(fmt.Sprintf("%q is neither true nor false", source.Shorten(g.value)), "write it without a value")
			return
		}
		apply(g)
	}}
}

// text is a flag that sets a field of the document.
func text(to string, field func(d *spec.Document) *string) flag {
	return flag{source.OneValue, func(g *given) {
		*field(g.s.doc) = g.value
		g.kept(to)
	}}
}

func whole(to string, least int, set func(s *submission, n int)) flag {
	return flag{source.OneValue, func(g *given) {
		n, err := strconv.Atoi(g.value)
		if err != nil || n < least || n > 1_000_000 {
			g.refuse(fmt.Sprintf("%q is not a whole number from %d", source.Shorten(g.value), least), "write it in digits")
			return
		}
		set(g.s, n)
		g.translated(to, "")
	}}
}

func amount(to string, field func(r *spec.Resources) *spec.Quantity) flag {
	return flag{source.OneValue, func(g *given) {
		q, err := spec.ParseQuantity(g.value)
		if err != nil {
			g.refuse(source.ProblemOf(err), source.HintOf(err))
			return
		}
		at := field(&g.s.doc.Resources)
		if *at != 0 && *at != q {
			g.refuse(fmt.Sprintf("is %s, and another flag says %s", g.value, *at), "keep one of them")
			return
		}
		*at = q
		g.kept(to)
	}}
}

func lasting(to string, field func(d *spec.Document) *spec.Duration) flag {
	return flag{source.OneValue, func(g *given) {
		t, err := spec.ParseDuration(g.value)
		if err != nil {
			g.refuse(source.ProblemOf(err), source.HintOf(err))
			return
		}
		if t == 0 && to == "ttlAfterEnd" {
			t = source.Seconds(1)
		}
		*field(g.s.doc) = t
		g.kept(to)
	}}
}

func truth(to string, set func(s *submission)) flag {
	return flag{source.OptionalValue, func(g *given) {
		set(g.s)
		g.translated(to, "")
	}}.bare()
}

// flags are all flags of runai submit and submit-dist of the first, and
// of … submit of the second command line.
var flags = sync.OnceValue(func() map[string]flag {
	cpu := amount("resources.cpu", func(r *spec.Resources) *spec.Quantity { return &r.CPU })
	memory := amount("resources.memory", func(r *spec.Resources) *spec.Quantity { return &r.Memory })
	limit := loses("what is promised counts; what is used beyond it is not limited")
	gpuRequest := flag{source.OneValue, (*given).gpus}
	backoff := whole("retry.limit", 0, func(s *submission, n int) { s.doc.Retry.Limit = min(n, source.MaxRetries) })
	ttl := lasting("ttlAfterEnd", func(d *spec.Document) *spec.Duration { return &d.TTLAfterEnd })
	workers := whole("workers", 1, func(s *submission, n int) { s.count = n })
	m := map[string]flag{
		// Names and kinds.
		"name":            text("name", func(d *spec.Document) *string { return &d.Name }),
		"name-prefix":     text("namePrefix", func(d *spec.Document) *string { return &d.NamePrefix }),
		"job-name-prefix": text("namePrefix", func(d *spec.Document) *string { return &d.NamePrefix }),
		"project":         text("project", func(d *spec.Document) *string { return &d.Project }),
		"interactive":     truth("kind", func(s *submission) { s.doc.Kind = lifecycle.Workspace }),
		"jupyter": truth("ports", func(s *submission) {
			s.doc.Kind = lifecycle.Workspace
			s.doc.Ports = append(s.doc.Ports, spec.Port{Port: 8888})
			if s.doc.Image == "" {
				s.doc.Image = "jupyter/scipy-notebook"
			}
		}),
		"inference": truth("kind", func(s *submission) { s.inference = true }),
		"framework": {source.OneValue, (*given).framework},
		"template":  loses("templates of Run:ai are not here; write what it says"),
		"elastic":   truth("", func(*submission) {}),

		// How it lives.
		"backoff-limit":                       backoff,
		"backoffLimit":                        backoff, // as the documents about statuses print it
		"completions":                         whole("array.completions", 1, func(s *submission, n int) { s.array().Completions = n }),
		"runs":                                whole("array.completions", 1, func(s *submission, n int) { s.array().Completions = n }),
		"parallelism":                         whole("array.parallelism", 1, func(s *submission, n int) { s.array().Parallelism = n }),
		"restart-policy":                      {source.OneValue, (*given).restartPolicy},
		"preemptible":                         truth("preemptible", func(s *submission) { yes := true; s.doc.Preemptible = &yes }),
		"preemptibility":                      {source.OneValue, (*given).preemptibility},
		"priority":                            {source.OneValue, (*given).priority},
		"category":                            loses("there are no categories; write a label"),
		"auto-deletion-time-after-completion": ttl,
		"ttl-after-finish":                    ttl,
		"termination-grace-period":            lasting("gracePeriod", func(d *spec.Document) *spec.Duration { return &d.GracePeriod }),

		// The container.
		"image":                      text("image", func(d *spec.Document) *string { return &d.Image }),
		"image-pull-policy":          {source.OneValue, (*given).pullPolicy},
		"always-pull-image":          truth("pullPolicy", func(s *submission) { s.doc.PullPolicy = "always" }),
		"local-image":                truth("pullPolicy", func(s *submission) { s.doc.PullPolicy = "never" }),
		"image-pull-secret":          text("pullSecret", func(d *spec.Document) *string { return &d.PullSecret }),
		"command":                    {source.OptionalValue, (*given).command},
		"args":                       {source.OneValue, (*given).args},
		"environment":                {source.OneValue, (*given).variable},
		"env":                        {source.OneValue, (*given).variable},
		"environment-variable":       {source.OneValue, (*given).variable},
		"working-dir":                text("workdir", func(d *spec.Document) *string { return &d.Workdir }),
		"tty":                        truth("tty", func(s *submission) { s.doc.TTY = true }),
		"stdin":                      truth("stdin", func(s *submission) { s.doc.Stdin = true }),
		"attach":                     means("muster run -it attaches").bare(),
		"annotation":                 {source.OneValue, (*given).annotation},
		"label":                      {source.OneValue, (*given).label},
		"add-capability":             loses("tasks get no further rights"),
		"capability":                 loses("tasks get no further rights"),
		"create-home-dir":            means("the image has its home").bare(),
		"run-as-user":                loses("write --run-as-uid; who submits is not known in a file").bare(),
		"run-as-uid":                 whole("runAs.user", 0, func(s *submission, n int) { s.runAs().User = &n }),
		"run-as-gid":                 whole("runAs.group", 0, func(s *submission, n int) { s.runAs().Group = &n }),
		"supplemental-groups":        loses("a task has one group"),
		"user-group-source":          means("runAs says who it runs as, else the image"),
		"seccomp-profile":            means("the backend has its own"),
		"allow-privilege-escalation": loses("tasks get no further rights").bare(),
		"prevent-privilege-escalation": {source.OptionalValue, func(g *given) {
			g.record(source.Ignored, false, "", "tasks get no further rights")
		}},

		// Resources.
		"gpu": gpuRequest, "gpu-devices-request": gpuRequest,
		"gpu-memory":                 {source.OneValue, (*given).gpuMemory},
		"gpu-memory-request":         {source.OneValue, (*given).gpuMemory},
		"gpu-memory-limit":           {source.OneValue, (*given).gpuMemoryLimit},
		"gpu-portion-request":        {source.OneValue, (*given).portion},
		"gpu-portion-limit":          {source.OneValue, (*given).portionLimit},
		"gpu-request-type":           {source.OneValue, (*given).requestType},
		"mig-profile":                {source.OneValue, (*given).mig},
		"cpu":                        cpu,
		"cpu-core-request":           cpu,
		"cpu-limit":                  limit,
		"cpu-core-limit":             limit,
		"memory":                     memory,
		"cpu-memory-request":         memory,
		"memory-limit":               limit,
		"cpu-memory-limit":           limit,
		"large-shm":                  {source.OptionalValue, (*given).largeSHM},
		"extended-resource":          {source.OneValue, (*given).extended},
		"allow-over-quota":           means("the project's rules say it").bare(),
		"service-account":            loses("tasks have no account in a cluster"),
		"cleanup-policy":             {source.OneValue, (*given).cleanPolicy},
		"clean-pod-policy":           {source.OneValue, (*given).cleanPolicy},
		"workers":                    workers,
		"processes":                  workers,
		"slots-per-worker":           whole("slots", 1, func(s *submission, n int) { s.doc.Slots = n }),
		"min-replicas":               whole("minWorkers", 0, func(s *submission, n int) { s.least = n }),
		"max-replicas":               whole("workers", 1, func(s *submission, n int) { s.most = n }),
		"initial-replicas":           whole("replicas", 0, func(s *submission, n int) { s.doc.Replicas = &n }),
		"no-master":                  truth("workers", func(s *submission) { s.noMaster = true }),
		"master-args":                {source.OneValue, (*given).masterArgs},
		"master-command":             {source.OneValue, (*given).masterCommand},
		"master-environment":         {source.OneValue, (*given).masterVariable},
		"master-gpu":                 {source.OneValue, (*given).masterGPU},
		"master-no-pvcs":             loses("the master has the workers' volumes").bare(),
		"master-extended-resource":   {source.OneValue, (*given).masterExtended},
		"master-gpu-devices-request": {source.OneValue, (*given).masterGPU},
		"master-gpu-portion-request": {source.OneValue, (*given).masterGPU},
		"master-gpu-portion-limit":   loses("what is promised counts"),

		// Storage.
		"volume":               {source.OneValue, (*given).volume},
		"host-path":            {source.OneValue, (*given).hostPath},
		"nfs-server":           loses("mount it on the nodes and write --host-path"),
		"nfs":                  loses("mount it on the nodes and write --host-path"),
		"pvc":                  {source.OneValue, (*given).pvc},
		"pvc-exists":           {source.OneValue, (*given).claim},
		"existing-pvc":         {source.OneValue, (*given).claim},
		"new-pvc":              {source.OneValue, (*given).newClaim},
		"pvc-new":              {source.OneValue, (*given).newClaim},
		"s3":                   loses("buckets are not mounted; fetch it by init"),
		"configmap-volume":     loses("what is not in the file cannot be copied; write volumes with config"),
		"configmap-map-volume": loses("what is not in the file cannot be copied; write volumes with config"),
		"secret-volume":        {source.OneValue, (*given).secretVolume},
		"git-sync":             {source.OneValue, (*given).gitSync},
		"mount-propagation":    means("the backend sees to it").bare(),

		// The network.
		"service-type": means("tasks are reached through the server"),
		"port":         {source.OneValue, (*given).port},
		"serving-port": {source.OneValue, (*given).port},
		"custom-url":   loses("tasks are reached through the server"),
		"external-url": {source.OneValue, (*given).externalURL},
		"address":      means("tasks are reached through the server"),
		"host-ipc":     flag{source.OneValue, (*given).hostIPC}.bare(),
		"host-network": loses("tasks share no network with their node").bare(),

		// Where it runs.
		"node-pools":                      {source.OneValue, (*given).pools},
		"node-pool":                       {source.OneValue, (*given).pools},
		"node-type":                       text("nodeType", func(d *spec.Document) *string { return &d.NodeType }),
		"toleration":                      {source.OneValue, (*given).toleration},
		"required-pod-topology-key":       {source.OneValue, (*given).topology},
		"preferred-pod-topology-key":      {source.OneValue, (*given).topology},
		"required-topology-level":         {source.OneValue, (*given).topology},
		"preferred-topology-level":        {source.OneValue, (*given).topology},
		"metric":                          {source.OneValue, (*given).metric},
		"metric-threshold":                {source.OneValue, (*given).threshold},
		"concurrency-hard-limit":          loses("a replica refuses nothing"),
		"scale-down-delay-seconds":        {source.OneValue, (*given).scaleDown},
		"activation-replicas":             loses("as many replicas as are needed come up"),
		"scale-to-zero-retention-seconds": {source.OneValue, (*given).scaleDown},
		"mnnvl":                           loses("write --required-pod-topology-key").bare(),

		// About the command itself.
		"help": means("").bare(), "debug": means("it is about what runai prints").bare(), "quiet": means("it is about what runai prints").bare(), "verbose": means("it is about what runai prints").bare(),
		"loglevel": means("it is about what runai prints"), "config-path": means("it is about runai's own files"), "config-file": means("it is about runai's own files"), "cluster": means("the scheduler chooses where it runs"),
		"dry-run": means("muster run --dry-run does it").bare(), "wait-for-submit": means("submission waits for the server"), "pod-running-timeout": means("muster wait does it"), "yes": means("nothing is asked").bare(),
	}
	return m
})

func (s *submission) array() *spec.Array {
	if s.doc.Array == nil {
		s.doc.Array = &spec.Array{}
	}
	return s.doc.Array
}

func (s *submission) runAs() *spec.RunAs {
	if s.doc.RunAs == nil {
		s.doc.RunAs = &spec.RunAs{}
	}
	return s.doc.RunAs
}

func (s *submission) master() *spec.Master {
	if s.doc.Master == nil {
		s.doc.Master = &spec.Master{}
	}
	return s.doc.Master
}

func (s *submission) masterResources() *spec.Resources {
	m := s.master()
	if m.Resources == nil {
		m.Resources = &spec.Resources{}
	}
	return m.Resources
}

func (g *given) framework() {
	f, ok := frameworks[g.value]
	if !ok {
		g.refuse(fmt.Sprintf("%q is not a framework", source.Shorten(g.value)), "allowed are PyTorch, MPI, TF, XGBoost and Jax")
		return
	}
	g.s.doc.Framework = f
	g.translated("framework", "")
}

func (g *given) preemptibility() {
	yes := g.value == "preemptible"
	if !yes && g.value != "non-preemptible" {
		g.refuse(fmt.Sprintf("%q is not known", source.Shorten(g.value)), "allowed are preemptible and non-preemptible")
		return
	}
	g.s.doc.Preemptible = &yes
	g.translated("preemptible", "")
}

func (g *given) priority() {
	if p, ok := source.PriorityNamed(g.value); ok {
		g.s.doc.Priority = p
		g.kept("priority")
	} else {
		g.record(source.Ignored, true, "", "it is no priority here; write train, build, interactive-preemptible, inference, or very-low to very-high")
	}
}

func (g *given) pullPolicy() {
	p, ok := source.PullPolicies[g.value]
	if !ok {
		g.refuse(fmt.Sprintf("%q is not a policy", source.Shorten(g.value)), "allowed are Always, IfNotPresent and Never")
		return
	}
	g.s.doc.PullPolicy = p
	g.translated("pullPolicy", "")
}

// command is a switch in the second command line, and a text in older ones.
func (g *given) command() {
	switch g.value {
	case "false":
		g.record(source.Translated, false, "args", "what stands after -- are arguments")
	case "", "true":
		g.s.entrypoint = true
		g.translated("command", "what stands after -- replaces the image's own")
	default:
		words, err := source.ShellWords(g.value)
		if err != nil || len(words) == 0 {
			g.refuse("is not a command", "close its quotes")
			return
		}
		g.s.commandText = words
		g.translated("command", "")
	}
}

func (g *given) args() {
	words, err := source.ShellWords(g.value)
	if err != nil {
		g.refuse(err.Error(), "close it")
		return
	}
	g.s.doc.Args = append(g.s.doc.Args, words...)
	g.translated("args", "")
}

func (g *given) pair(m *map[string]string, to string) {
	name, text, has := strings.Cut(g.value, "=")
	if !has || name == "" {
		g.refuse(fmt.Sprintf("%q is not name=value", source.Shorten(g.value)), "write it like NAME=value")
		return
	}
	*m = source.Set(*m, name, text)
	g.kept(to + "." + name)
}

func (g *given) label()      { g.pair(&g.s.doc.Labels, "labels") }
func (g *given) annotation() { g.pair(&g.s.doc.Annotations, "annotations") }

func (g *given) largeSHM() {
	if g.value == "false" {
		return
	}
	g.sharedMemory()
	g.translated("volumes", "as large as half of the node's memory")
}

// hostIPC is there for what processes of one task share in memory, which the image's own
// 64 MB are too small for. Other tasks of the node are not reached.
func (g *given) hostIPC() {
	g.sharedMemory()
	g.translated("volumes", "shared memory of its own, as large as half of the node's memory")
}

func (g *given) sharedMemory() {
	const path = "/dev/shm"
	if !slices.ContainsFunc(g.s.doc.Volumes, func(v spec.Volume) bool { return v.Path == path }) {
		g.s.doc.Volumes = append(g.s.doc.Volumes, spec.Volume{Path: path, Temporary: &spec.Temporary{}})
	}
}

func (g *given) cleanPolicy() {
	switch g.value {
	case "None":
		g.s.doc.CleanPolicy = "none"
	case "Running", "All":
		g.s.doc.CleanPolicy = "running"
	default:
		g.refuse(fmt.Sprintf("%q is not a policy", source.Shorten(g.value)), "allowed are Running, All and None")
		return
	}
	g.translated("cleanPolicy", "")
}

func (g *given) pools() {
	g.s.doc.Pools = append(g.s.doc.Pools, strings.FieldsFunc(g.value, func(c rune) bool { return c == ',' || c == ' ' })...)
	g.kept("pools")
}

func (g *given) topology() {
	if g.s.doc.Framework == "" {
		g.record(source.Ignored, true, "", "a single task has no topology")
		return
	}
	if strings.HasPrefix(g.name, "required") {
		g.s.doc.Topology.Required = g.value
		g.translated("topology.required", "")
		return
	}
	g.s.doc.Topology.Preferred = g.value
	g.translated("topology.preferred", "")
}

func (g *given) toleration() {
	t := spec.Toleration{}
	op := "Equal"
	fields := g.fields()
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		switch text := fields[name]; name {
		case "key":
			t.Key = text
		case "value":
			t.Value = text
		case "effect":
			t.Effect = text
		case "operator":
			op = text
		case "seconds":
		default:
			g.refuse(fmt.Sprintf("has no field %q", source.Shorten(name)), "allowed are operator, key, value, effect and seconds")
			return
		}
	}
	if op == "Exists" {
		t.Value = ""
	}
	g.s.doc.Tolerations = append(g.s.doc.Tolerations, t)
	g.translated("tolerations", "")
}

// fields reads a=1,b=2; a word without = is a switch.
func (g *given) fields() map[string]string {
	m := map[string]string{}
	for part := range strings.SplitSeq(g.value, ",") {
		name, text, has := strings.Cut(strings.TrimSpace(part), "=")
		if !has {
			text = "true"
		}
		m[strings.ToLower(name)] = text
	}
	return m
}

func (g *given) gitSync() {
	f := g.fields()
	repo := f["source"]
	if repo == "" {
		repo = f["repository"]
	}
	in := &spec.Git{Repo: repo, Branch: f["branch"]}
	if rev := f["rev"]; source.IsCommit(rev) {
		in.Commit = rev
	} else if rev != "" && in.Branch == "" {
		in.Branch = rev
	}
	target := f["target"]
	if target == "" {
		target = f["path"]
	}
	in.Path = strings.TrimPrefix(target, "/")
	switch {
	case repo == "":
		g.refuse("names no repository", "write source=URL")
		return
	case f["password"] != "" || f["username"] != "":
		g.approximated("integrations", "passwords are never in documents; muster secret create makes a git-ssh secret")
	case path.IsAbs(target):
		g.approximated("integrations", "it is cloned below the working directory")
	default:
		g.translated("integrations", "")
	}
	g.s.doc.Integrations = append(g.s.doc.Integrations, spec.Integration{Git: in})
}

// restartPolicy reads that of the pod: what has failed is tried again as often as
// --backoff-limit says, in its place or in another pod.
func (g *given) restartPolicy() {
	switch g.value {
	case "Never", "OnFailure":
		g.record(source.Ignored, false, "", "--backoff-limit says how often what has failed is tried again")
	case "Always":
		if g.s.doc.Kind.Batch() {
			g.record(source.Ignored, true, "", "what has succeeded is over; write a workspace for what is always started again")
		} else {
			g.record(source.Ignored, false, "", "it is always started again")
		}
	default:
		g.refuse(fmt.Sprintf("%q is no policy", source.Shorten(g.value)), "allowed are Never, OnFailure and Always")
	}
}
