package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/musterhq/muster/client"
	"github.com/musterhq/muster/internal/convert"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/spec"
)

// documentFlags are what `muster run` can say of a workload beside its file.
type documentFlags struct {
	file                                 string
	name, prefix, project, kind          string
	image, workdir, cpu, memory, gpuType string
	priority, maxDuration                string
	gpus                                 string
	workers, retries, replicas           int
	placement                            placementFlags
	tty, stdin, hold, allowLossy         bool
	env, labels, sets                    []string
	secrets, volumes, ports, checks      []string
	data                                 []string
	after                                []string
	notBefore, reservation               string
	exclusive                            string
	deadline, deadlineAction, expected   string
	cmd                                  *cobra.Command // to see which flags were given

	base     *spec.Document // what flags change, instead of a file; nil: none
	likeName string         // of the workload that base is of
	read     []piece        // what the file holds, once it was read; nil: it was not
}

func (d *documentFlags) register(s *session, cmd *cobra.Command) {
	d.cmd = cmd
	f := cmd.Flags()
	f.StringVarP(&d.file, "file", "f", "", "workload document, YAML or JSON, or a file for another system (see muster import); - is standard input")
	f.BoolVar(&d.allowLossy, "allow-lossy", false, "submit a file for another system though meaning is lost; muster import --explain says which")
	f.StringVar(&d.name, "name", "", "name of the workload")
	f.StringVar(&d.prefix, "prefix", "", "make a name that begins with this")
	f.StringVarP(&d.project, "project", "p", s.setting("MUSTER_PROJECT"), "project (MUSTER_PROJECT)")
	f.StringVar(&d.kind, "kind", "", "training, distributed, workspace or inference")
	f.StringVar(&d.image, "image", "", "container image")
	f.StringVar(&d.workdir, "workdir", "", "working directory; default: this one")
	f.StringVar(&d.cpu, "cpu", "", "CPU cores of each task, like 4 or 500m")
	f.StringVar(&d.memory, "memory", "", "memory of each task, like 16Gi")
	f.StringVarP(&d.gpus, "gpus", "g", "", "GPUs of each task: a number, or a part of one like 0.5")
	f.StringVar(&d.gpuType, "gpu-type", "", "only GPUs whose name contains this")
	f.IntVar(&d.workers, "workers", 0, "tasks of a gang (kind distributed)")
	d.placement.register(f)
	f.StringVar(&d.priority, "priority", "", strings.Join(spec.PriorityNames(), ", ")+", or 0 to 1000")
	f.StringVar(&d.maxDuration, "max-duration", "", "end it after this long, like 12h")
	f.IntVar(&d.retries, "retries", 0, "failed attempts that are tried again")
	f.IntVar(&d.retries, "retry", 0, "the same as --retries")
	f.IntVar(&d.replicas, "replicas", 0, "replicas of a service (kind inference)")
	f.StringArrayVar(&d.secrets, "secret", nil, "a secret that its tasks see: NAME, or NAME=VARIABLE; repeat for several")
	f.StringArrayVarP(&d.volumes, "volume", "v", nil, "a directory or file of the node: HOSTPATH:PATH[:ro]; repeat for several")
	f.StringArrayVar(&d.data, "data", nil, "a data source or data volume that its tasks see: NAME[:PATH[:ro]]; repeat for several")
	f.StringArrayVar(&d.ports, "port", nil, "a port on which its tasks listen: PORT, or NAME=PORT; repeat for several")
	f.StringArrayVar(&d.checks, "check", nil, "what must be approved first: name=legal,type=approval,users=ann+bob; repeat for several")
	f.StringArrayVar(&d.after, "after", nil, "a workload that must have succeeded first: NAME, or NAME=failed, NAME=ended, NAME=started; repeat for several")
	f.StringVar(&d.deadline, "deadline", "", "by when it is to be done: \"fri 09:00\", \"tomorrow 18:00\", \"2027-01-31 09:00\", or 8h from now")
	f.StringVar(&d.deadlineAction, "deadline-action", "", "what becomes of it once its deadline has passed: warn or stop")
	f.StringVar(&d.expected, "expected-duration", "", "how long you take it to run, like 2h: its latest start is so long before its deadline")
	f.StringVar(&d.notBefore, "not-before", "", "do not queue it before then: an instant like 2027-01-31T08:00:00Z, or 2h from now")
	f.StringVar(&d.reservation, "reservation", "", "run it on the nodes of this reservation, while that lasts")
	f.StringVar(&d.exclusive, "exclusive", "", "its nodes take nothing else while it runs; with =user only what the same user submits so")
	f.Lookup("exclusive").NoOptDefVal = "node"
	f.BoolVar(&d.hold, "hold", false, "do not queue it before muster release lets it go")
	f.BoolVarP(&d.tty, "tty", "t", false, "give each task a terminal; with -i it is attached to this one")
	f.BoolVarP(&d.stdin, "stdin", "i", false, "keep each task's standard input open, and attach to it")
	f.StringArrayVarP(&d.env, "env", "e", nil, "KEY=value, or KEY to pass on one's own; repeat for several")
	f.StringArrayVarP(&d.labels, "label", "l", nil, "key=value; repeat for several")
	f.StringArrayVar(&d.sets, "set", nil, "FIELD=value, like resources.gpu.count=2; repeat for several")
	_ = cmd.RegisterFlagCompletionFunc("project", s.completeProjects)
	_ = cmd.RegisterFlagCompletionFunc("secret", s.completeSecrets)
	_ = cmd.RegisterFlagCompletionFunc("data", s.completeTemplates(client.KindDataSource, client.KindDataVolume))
	_ = cmd.RegisterFlagCompletionFunc("cluster", s.completeClusters)
}

// source is a document with where it came from, so that errors can say where.
type source struct {
	file    string // "" when there was none
	data    []byte
	foreign bool // written for another system: its lines are not those of a document
	before  int  // lines of the file that stand before data
}

// build makes the only document of a run.
func (s *session) build(d *documentFlags, argv []string, local bool) (*spec.Document, source, error) {
	all, err := s.buildAll(d, argv, local)
	if err != nil {
		return nil, source{}, err
	}
	p, err := only(all)
	return p.doc, p.src, err
}

// buildAll makes the documents of a run: those of the file, what flags say over
// each, and the words of the command line as the command of one.
func (s *session) buildAll(d *documentFlags, argv []string, local bool) ([]piece, error) {
	all, err := s.fromFile(d)
	if err != nil {
		return nil, err
	}
	if err := d.check(argv); err != nil {
		return nil, err
	}
	if len(all) > 1 {
		if err := d.ofOne(len(all), argv); err != nil {
			return nil, err
		}
	}
	edits, err := d.edits(s, argv)
	if err != nil {
		return nil, err
	}
	for i := range all {
		if all[i].doc, err = s.settle(d, all[i], edits, local); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// settle is a document with what flags and the present situation say over it.
func (s *session) settle(d *documentFlags, p piece, edits []change, local bool) (*spec.Document, error) {
	doc, err := edit(p.doc, edits)
	if err != nil {
		return nil, err
	}
	if d.stdin && doc.Kind == lifecycle.Workspace && doc.Restart == "" {
		doc.Restart = "never" // who leaves the shell that was asked for wants no other
	}
	if err := settleWorkdir(doc, local); err != nil {
		return nil, err
	}
	s.carryEnvironment(doc, local)
	if errs := spec.Validate(spec.WithDefaults(doc)); len(errs) > 0 {
		return nil, p.src.refuse(errs)
	}
	return doc, nil
}

// carried are the variables that decide which programs and libraries a command
// means: without them "python train.py" in an activated environment would run
// with another Python, that of the shell which happened to start the server.
var carried = []string{"PATH", "VIRTUAL_ENV", "CONDA_PREFIX", "CONDA_DEFAULT_ENV", "PYTHONPATH", "LD_LIBRARY_PATH"}

// carryEnvironment gives a process of this machine the submitter's programs and
// libraries; what the document says of a variable wins. A batch script has of
// the submitter's variables what it says itself, wherever it runs.
func (s *session) carryEnvironment(doc *spec.Document, local bool) {
	if doc.Slurm != nil {
		if doc.Slurm.Environment == "" && s.environ != nil {
			doc.Slurm.Environment = spec.PackEnvironment(convert.Exported(doc, s.environ(), submittedAt()))
		}
		return
	}
	if doc.Image != "" || !local {
		return
	}
	env := maps.Clone(doc.Env)
	if env == nil {
		env = map[string]string{}
	}
	for _, name := range carried {
		if _, said := env[name]; !said && s.env(name) != "" {
			env[name] = s.env(name)
		}
	}
	if len(env) > 0 {
		doc.Env = env
	}
}

// submittedAt is what Slurm tells a script of where it was submitted.
func submittedAt() (vars []string) {
	if dir, err := os.Getwd(); err == nil {
		vars = append(vars, "SLURM_SUBMIT_DIR="+dir)
	}
	if host, err := os.Hostname(); err == nil {
		vars = append(vars, "SLURM_SUBMIT_HOST="+host)
	}
	return vars
}

// oneFromFile is the document of a file that holds one.
func (s *session) oneFromFile(d *documentFlags) (*spec.Document, source, error) {
	all, err := s.fromFile(d)
	if err != nil {
		return nil, source{file: d.file}, err
	}
	p, err := only(all)
	return p.doc, p.src, err
}

// fromFile are the documents of the file; an empty one where none is named.
func (s *session) fromFile(d *documentFlags) ([]piece, error) {
	src := source{file: d.file}
	if d.file == "" {
		doc := &spec.Document{}
		if d.base != nil {
			doc = d.base.Clone()
		}
		return []piece{{doc: doc, src: src}}, nil
	}
	all, err := s.pieces(d)
	for i := range all {
		if err == nil && d.base != nil {
			all[i].doc, err = spec.Overlay(d.base, all[i].doc)
		}
	}
	return all, err
}

// pieces are the documents of the file as they stand there, which is read once:
// standard input comes no second time.
func (s *session) pieces(d *documentFlags) ([]piece, error) {
	if d.read == nil {
		src := source{file: d.file}
		var err error
		if src.data, err = s.read(d.file); err != nil {
			return nil, err
		}
		if d.file == "-" {
			src.file = "standard input"
		}
		if d.read, err = s.readDocuments(src, d.allowLossy); err != nil {
			return nil, err
		}
	}
	return slices.Clone(d.read), nil
}

func (d *documentFlags) check(argv []string) error {
	says := func(set string) bool {
		return strings.HasPrefix(set, "command=") || strings.HasPrefix(set, "image=") || strings.HasPrefix(set, "build.")
	}
	if d.file == "" && d.base == nil && len(argv) == 0 && d.image == "" && !slices.ContainsFunc(d.sets, says) { // an image has a command of its own
		return usage("there is nothing to run", "muster run -f FILE, or muster run -- COMMAND ARGUMENTS")
	}
	return nil
}

// read returns the content of a document.
func (s *session) read(file string) ([]byte, error) {
	if file == "-" {
		if s.io.InTerminal {
			s.say("reading the document from the terminal; end with Ctrl-D")
		}
		return io.ReadAll(s.io.In)
	}
	data, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		return nil, missing(fmt.Sprintf("file %s does not exist", file), "check its path; - is standard input")
	}
	if err != nil {
		return nil, usage(err.Error(), "check its path; - is standard input")
	}
	return data, nil
}

// refuse is err with the lines of the file, where it has any.
func (src source) refuse(err error) error {
	var errs spec.Errors
	if !errors.As(err, &errs) {
		return err
	}
	errs = slices.Clone(errs)
	for i := range errs {
		if errs[i].Line == 0 {
			errs[i].Line = src.lines()[errs[i].Path]
		}
		if errs[i].Line > 0 {
			errs[i].Line += src.before
		}
	}
	return badDocument(src.file, errs)
}

// lines finds the lines of fields that the document itself has wrong: flags
// and defaults have changed it since, and only its text knows lines.
func (src source) lines() map[string]int {
	m := map[string]int{}
	if src.file == "" || src.foreign {
		return m
	}
	_, err := spec.Load(src.data)
	var errs spec.Errors
	if errors.As(err, &errs) {
		for _, e := range errs {
			m[e.Path] = e.Line
		}
	}
	return m
}

// settleWorkdir makes the working directory absolute. Without one it is the
// present directory, unless the work runs in an image or on another machine.
func settleWorkdir(doc *spec.Document, local bool) error {
	if doc.Image != "" || !local || filepath.IsAbs(doc.Workdir) {
		return nil
	}
	dir, err := filepath.Abs(doc.Workdir) // of "": the present one
	if err != nil {
		return usage("the working directory cannot be told: "+err.Error(), "give one with --workdir")
	}
	doc.Workdir = dir
	return nil
}

// local reports whether the server shares this machine's files.
func (s *session) local() bool { return s.server == "" || isLocal(s.server) }

// isLocal reports whether a server at that address shares this machine's files.
func isLocal(address string) bool {
	if _, ok := client.SocketPath(address); ok {
		return true
	}
	u, err := url.Parse(address)
	return err == nil && (u.Hostname() == "localhost" || u.Hostname() == "127.0.0.1" || u.Hostname() == "::1")
}

// edits are what flags and words say, as changes of fields.
func (d *documentFlags) edits(s *session, argv []string) ([]change, error) {
	var all []change
	given := func(flag, path string, value any) {
		if d.cmd.Flags().Changed(flag) {
			all = append(all, change{path: path, value: value, flag: "--" + flag})
		}
	}
	given("name", "name", d.name)
	given("prefix", "namePrefix", d.prefix)
	given("kind", "kind", d.kind)
	given("image", "image", d.image)
	given("workdir", "workdir", d.workdir)
	given("cpu", "resources.cpu", d.cpu)
	given("memory", "resources.memory", d.memory)
	given("gpu-type", "resources.gpu.type", d.gpuType)
	given("workers", "workers", d.workers)
	given("priority", "priority", d.priority)
	if n := d.maxDuration; n != "" && strings.Trim(n, "0123456789") == "" && strings.Trim(n, "0") != "" {
		return nil, usage("--max-duration "+n+" does not say of what", "write "+n+"s, "+n+"m or "+n+"h: other tools mean minutes, or hours")
	}
	given("max-duration", "maxDuration", d.maxDuration)
	given("retries", "retry.limit", d.retries)
	given("retry", "retry.limit", d.retries)
	given("replicas", "replicas", d.replicas)
	given("deadline", "deadline", Until(d.deadline, s.clock()))
	given("deadline-action", "deadlineAction", d.deadlineAction)
	given("expected-duration", "expectedDuration", d.expected)
	given("not-before", "notBefore", fromNow(d.notBefore, s.clock()))
	given("reservation", "reservation", d.reservation)
	given("exclusive", "exclusive", d.exclusive)
	given("hold", "hold", d.hold)
	given("tty", "tty", d.tty)
	given("stdin", "stdin", d.stdin)
	all = append(all, d.placement.edits(d)...)
	lists, err := d.lists()
	if err != nil {
		return nil, err
	}
	all = append(all, lists...)
	if d.project != "" {
		all = append(all, change{path: "project", value: d.project, flag: "--project", soft: !d.cmd.Flags().Changed("project")})
	}
	if d.cmd.Flags().Changed("name") { // a name given is meant, whatever the file makes names of
		all = append(all, change{path: "namePrefix", remove: true})
	}
	if d.cmd.Flags().Changed("prefix") {
		all = append(all, change{path: "name", remove: true})
	}
	more, err := d.maps()
	if err != nil {
		return nil, err
	}
	all = append(all, more...)
	// Words are arguments of a command that a file or a template has; like another
	// workload means that they take the place of its own.
	if len(argv) > 0 && (d.file != "" || d.base != nil && d.likeName == "" && d.base.Command.String() != "") {
		all = append(all, change{path: "args", value: argv, flag: "--"})
	} else if len(argv) > 0 {
		all = append(all, change{path: "command", value: argv, flag: "--"})
	}
	return all, nil
}

// maps are the flags that set one entry of a map, or any field.
func (d *documentFlags) maps() ([]change, error) {
	var all []change
	for _, e := range d.env {
		k, v, ok := strings.Cut(e, "=")
		if !ok {
			if v, ok = os.LookupEnv(k); !ok {
				return nil, usage(fmt.Sprintf("--env %s: the variable is not set here", k), "write --env "+k+"=value")
			}
		}
		all = append(all, change{path: "env", key: k, value: v, flag: "--env"})
	}
	for _, l := range d.labels {
		k, v, ok := strings.Cut(l, "=")
		if !ok || k == "" {
			return nil, usage(fmt.Sprintf("--label %s: is not key=value", l), "write --label team=vision")
		}
		all = append(all, change{path: "labels", key: k, value: v, flag: "--label"})
	}
	for _, l := range d.placement.selector {
		k, v, ok := strings.Cut(l, "=")
		if !ok || k == "" {
			return nil, usage(fmt.Sprintf("--node-selector %s: is not key=value", l), "write --node-selector zone=a")
		}
		all = append(all, change{path: "nodeSelector", key: k, value: v, flag: "--node-selector"})
	}
	for _, e := range d.placement.extended {
		name, n, ok := strings.Cut(e, "=")
		if !ok || name == "" {
			return nil, usage(fmt.Sprintf("--extended %s: is not NAME=COUNT", e), "write --extended rdma/hca_shared_devices_a=1")
		}
		all = append(all, change{path: "resources.extended", key: name, value: json.RawMessage(jsonNumber(n)), flag: "--extended"})
	}
	for _, l := range d.placement.licenses {
		counts, err := convert.Licenses(l)
		if err != nil {
			return nil, usage("--license "+l+": "+err.Error(), "write --license matlab=2")
		}
		for _, name := range slices.Sorted(maps.Keys(counts)) {
			all = append(all, change{path: "licenses", key: name, value: counts[name], flag: "--license"})
		}
	}
	for _, set := range d.sets {
		c, err := parseSet(set)
		if err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	return all, nil
}

// encode is a document as it is sent.
func encode(doc *spec.Document) ([]byte, error) {
	data, err := json.Marshal(doc)
	if err != nil {
		return nil, fmt.Errorf("the document cannot be written: %w", err)
	}
	return data, nil
}
