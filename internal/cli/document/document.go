// Package document makes documents of what a person gives: files, flags, words of
// a command line and assets of a project. What it gives is ready to be submitted.
package document

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
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/musterhq/muster/client"
	"github.com/musterhq/muster/internal/cli/session"
	"github.com/musterhq/muster/internal/convert/slurm"
	foreign "github.com/musterhq/muster/internal/convert/source"
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/core/spec/codec"
)

// DocumentFlags are what `muster run` can say of a workload beside its file.
type DocumentFlags struct {
	File                                 string
	name, prefix, Project, kind          string
	image, workdir, cpu, memory, gpuType string
	priority, maxDuration                string
	gpus                                 string
	workers, retries, replicas           int
	array                                string
	placement                            placementFlags
	tty, Stdin, hold, allowLossy         bool
	env, labels, sets                    []string
	secrets, volumes, ports, checks      []string
	data                                 []string
	after                                []string
	notBefore, reservation               string
	exclusive                            string
	deadline, deadlineAction, expected   string
	Cmd                                  *cobra.Command // to see which flags were given

	Base     *spec.Document // what flags change, instead of a file; nil: none
	LikeName string         // of the workload that base is of
	// Recurring says that the file may be of what is run again and again; otherwise
	// that is refused, as it would be run once.
	Recurring bool
	explain   bool
	read      []Piece // what the file holds, once it was read; nil: it was not
}

// Register gives cmd the flags that say a document.
func (d *DocumentFlags) Register(s *session.Session, cmd *cobra.Command) {
	d.Cmd = cmd
	f := cmd.Flags()
	f.StringVarP(&d.File, "file", "f", "", "workload document, YAML or JSON, or a file for another system (see muster import); - is standard input")
	f.BoolVar(&d.allowLossy, "allow-lossy", false, "submit a file for another system though meaning is lost; muster import --explain says which")
	f.BoolVar(&d.explain, "explain", false, "say what becomes of every field of a file for another system")
	f.StringVar(&d.name, "name", "", "name of the workload")
	f.StringVar(&d.prefix, "prefix", "", "make a name that begins with this")
	f.StringVarP(&d.Project, "project", "p", s.Setting("MUSTER_PROJECT"), "project (MUSTER_PROJECT)")
	f.StringVar(&d.kind, "kind", "", "training, distributed, workspace or inference")
	f.StringVar(&d.image, "image", "", "container image")
	f.StringVar(&d.workdir, "workdir", "", "working directory; default: this one")
	f.StringVar(&d.cpu, "cpu", "", "CPU cores of each task, like 4 or 500m")
	f.StringVar(&d.memory, "memory", "", "memory of each task, like 16Gi")
	f.StringVarP(&d.gpus, "gpus", "g", "", "GPUs of each task: a number, or a part of one like 0.5")
	f.StringVar(&d.gpuType, "gpu-type", "", "only GPUs whose name contains this")
	f.IntVar(&d.workers, "workers", 0, "tasks of a gang (kind distributed)")
	f.StringVar(&d.array, "array", "", "so many independent tasks, each with its MUSTER_TASK_INDEX from 0: 20, or 20%4 with 4 at once")
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
	f.BoolVarP(&d.Stdin, "stdin", "i", false, "keep each task's standard input open, and attach to it")
	f.StringArrayVarP(&d.env, "env", "e", nil, "KEY=value, or KEY to pass on one's own; repeat for several")
	f.StringArrayVarP(&d.labels, "label", "l", nil, "key=value; repeat for several")
	f.StringArrayVar(&d.sets, "set", nil, "FIELD=value, like resources.gpu.count=2; repeat for several")
	_ = cmd.RegisterFlagCompletionFunc("project", s.CompleteProjects)
	_ = cmd.RegisterFlagCompletionFunc("secret", s.CompleteSecrets)
	_ = cmd.RegisterFlagCompletionFunc("data", s.CompleteTemplates(client.KindDataSource, client.KindDataVolume))
	_ = cmd.RegisterFlagCompletionFunc("cluster", s.CompleteClusters)
}

// Source is a document with where it came from, so that errors can say where.
type Source struct {
	File    string // "" when there was none
	Data    []byte
	Foreign bool // written for another system: its lines are not those of a document
	before  int  // lines of the file that stand before data
}

// Build makes the only document of a run.
func Build(s *session.Session, d *DocumentFlags, argv []string, local bool) (*spec.Document, Source, error) {
	all, err := BuildAll(s, d, argv, local)
	if err != nil {
		return nil, Source{}, err
	}
	p, err := Only(all)
	return p.Doc, p.Src, err
}

// BuildAll makes the documents of a run: those of the file, what flags say over
// each, and the words of the command line as the command of one.
func BuildAll(s *session.Session, d *DocumentFlags, argv []string, local bool) ([]Piece, error) {
	all, err := fromFile(s, d)
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
	edits, err := d.Edits(s, argv)
	if err != nil {
		return nil, err
	}
	for i := range all {
		if all[i].Doc, err = resolve(s, d, all[i], edits, local); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// resolve returns the document with the values of flags and of the present situation applied to it.
func resolve(s *session.Session, d *DocumentFlags, p Piece, edits []Change, local bool) (*spec.Document, error) {
	doc, err := Edit(p.Doc, edits)
	if err != nil {
		return nil, err
	}
	if d.Stdin && doc.Kind.Interactive() && doc.Restart == "" {
		doc.Restart = "never" // who leaves the shell that was asked for wants no other
	}
	if err := ResolveWorkdir(doc, local); err != nil {
		return nil, err
	}
	CarryEnvironment(s, doc, local)
	if errs := spec.Validate(spec.WithDefaults(doc)); len(errs) > 0 {
		return nil, p.Src.Refuse(errs)
	}
	return doc, nil
}

// Carried are the variables that decide which programs and libraries a command
// means: without them "python train.py" in an activated environment would run
// with another Python, that of the shell which happened to start the server.
var Carried = []string{"PATH", "VIRTUAL_ENV", "CONDA_PREFIX", "CONDA_DEFAULT_ENV", "PYTHONPATH", "LD_LIBRARY_PATH"}

// CarryEnvironment gives a process of this machine the submitter's programs and
// libraries; what the document says of a variable wins. A batch script has of
// the submitter's variables what it says itself, wherever it runs.
func CarryEnvironment(s *session.Session, doc *spec.Document, local bool) {
	if doc.Slurm != nil {
		if doc.Slurm.Environment == "" && s.Environ != nil {
			doc.Slurm.Environment = spec.PackEnvironment(slurm.Exported(doc, s.Environ(), submittedAt()))
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
	for _, name := range Carried {
		if _, given := env[name]; !given && s.Env(name) != "" {
			env[name] = s.Env(name)
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
	if n, known := nice(); known {
		vars = append(vars, "SLURM_PRIO_PROCESS="+strconv.Itoa(n))
	}
	return vars
}

// OneFromFile is the document of a file that holds one.
func OneFromFile(s *session.Session, d *DocumentFlags) (*spec.Document, Source, error) {
	all, err := fromFile(s, d)
	if err != nil {
		return nil, Source{File: d.File}, err
	}
	p, err := Only(all)
	return p.Doc, p.Src, err
}

// When is when the document of OneFromFile is run again and again, as its file says;
// nil: it does not.
func (d *DocumentFlags) When() *foreign.Schedule {
	if len(d.read) != 1 {
		return nil
	}
	return d.read[0].Schedule
}

// fromFile are the documents of the file; an empty one where none is named.
func fromFile(s *session.Session, d *DocumentFlags) ([]Piece, error) {
	src := Source{File: d.File}
	if d.File == "" {
		doc := &spec.Document{}
		if d.Base != nil {
			doc = d.Base.Clone()
		}
		return []Piece{{Doc: doc, Src: src}}, nil
	}
	all, err := pieces(s, d)
	for i := range all {
		if err == nil && d.Base != nil {
			all[i].Doc, err = spec.Overlay(d.Base, all[i].Doc)
		}
	}
	return all, err
}

// pieces are the documents of the file as they stand there, which is read once:
// standard input comes no second time.
func pieces(s *session.Session, d *DocumentFlags) ([]Piece, error) {
	if d.read == nil {
		src := Source{File: d.File}
		var err error
		if src.Data, err = Read(s, d.File); err != nil {
			return nil, err
		}
		if d.File == "-" {
			src.File = "standard input"
		}
		read, err := ReadDocuments(s, src, d.allowLossy, d.explain)
		if err != nil {
			return nil, err
		}
		if !d.Recurring {
			if err := Once(read); err != nil {
				return nil, err
			}
		}
		d.read = read
	}
	return slices.Clone(d.read), nil
}

func (d *DocumentFlags) check(argv []string) error {
	says := func(set string) bool {
		return strings.HasPrefix(set, "command=") || strings.HasPrefix(set, "image=") || strings.HasPrefix(set, "build.")
	}
	if d.File == "" && d.Base == nil && len(argv) == 0 && d.image == "" && !slices.ContainsFunc(d.sets, says) { // an image has a command of its own
		return session.UsageError("there is nothing to run", "muster run -f FILE, or muster run -- COMMAND ARGUMENTS")
	}
	return nil
}

// Read returns the content of a document.
func Read(s *session.Session, file string) ([]byte, error) {
	if file == "-" {
		if s.IO.InTerminal {
			s.Say("reading the document from the terminal; end with Ctrl-D")
		}
		return io.ReadAll(s.IO.In)
	}
	data, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		return nil, session.NotFoundError(fmt.Sprintf("file %s does not exist", file), "check its path; - is standard input")
	}
	if err != nil {
		return nil, session.UsageError(err.Error(), "check its path; - is standard input")
	}
	return data, nil
}

// Refuse is err with the lines of the file, where it has any.
func (src Source) Refuse(err error) error {
	var errs codec.Errors
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
	return session.BadDocument(src.File, errs)
}

// lines finds the lines of fields that the document itself has wrong: flags
// and defaults have changed it since, and only its text knows lines.
func (src Source) lines() map[string]int {
	m := map[string]int{}
	if src.File == "" || src.Foreign {
		return m
	}
	_, err := spec.Load(src.Data)
	var errs codec.Errors
	if errors.As(err, &errs) {
		for _, e := range errs {
			m[e.Path] = e.Line
		}
	}
	return m
}

// ResolveWorkdir makes the working directory absolute. Without one it is the
// present directory, unless the work runs in an image or on another machine.
func ResolveWorkdir(doc *spec.Document, local bool) error {
	if doc.Image != "" || !local || filepath.IsAbs(doc.Workdir) {
		return nil
	}
	if rest, home := strings.CutPrefix(doc.Workdir, "~"); home && (rest == "" || rest[0] == '/') { // as SkyPilot's files say it
		own, err := os.UserHomeDir()
		if err != nil {
			return session.UsageError("the home directory cannot be told: "+err.Error(), "write workdir in full")
		}
		doc.Workdir = filepath.Join(own, rest)
		return nil
	}
	dir, err := filepath.Abs(doc.Workdir) // of "": the present one
	if err != nil {
		return session.UsageError("the working directory cannot be told: "+err.Error(), "give one with --workdir")
	}
	doc.Workdir = dir
	return nil
}

// Local reports whether the server shares this machine's files.
func Local(s *session.Session) bool { return s.Server == "" || isLocal(s.Server) }

// isLocal reports whether a server at that address shares this machine's files.
func isLocal(address string) bool {
	if _, ok := client.SocketPath(address); ok {
		return true
	}
	u, err := url.Parse(address)
	return err == nil && (u.Hostname() == "localhost" || u.Hostname() == "127.0.0.1" || u.Hostname() == "::1")
}

// Edits are what flags and words say, as changes of fields.
func (d *DocumentFlags) Edits(s *session.Session, argv []string) ([]Change, error) {
	var all []Change
	given := func(flag, path string, value any) {
		if d.Cmd.Flags().Changed(flag) {
			all = append(all, Change{Path: path, Value: value, Flag: "--" + flag})
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
	for flag, n := range map[string]int{"workers": d.workers} {
		if d.Cmd.Flags().Changed(flag) && n < 1 {
			return nil, session.UsageError(fmt.Sprintf("--%s: %d is less than 1", flag, n), "write how many, or leave it out")
		}
	}
	for flag, text := range map[string]string{"cpu": d.cpu, "memory": d.memory} {
		if text == "0" {
			return nil, session.UsageError("--"+flag+": 0 is nothing to run with", "write how much, like "+map[string]string{"cpu": "500m", "memory": "1Gi"}[flag]+", or leave it out")
		}
	}
	given("max-duration", "maxDuration", d.maxDuration)
	given("retries", "retry.limit", d.retries)
	given("retry", "retry.limit", d.retries)
	given("replicas", "replicas", d.replicas)
	given("deadline", "deadline", Until(d.deadline, s.Clock()))
	given("deadline-action", "deadlineAction", d.deadlineAction)
	given("expected-duration", "expectedDuration", d.expected)
	given("not-before", "notBefore", session.FromNow(d.notBefore, s.Clock()))
	given("reservation", "reservation", d.reservation)
	given("exclusive", "exclusive", d.exclusive)
	given("hold", "hold", d.hold)
	given("tty", "tty", d.tty)
	given("stdin", "stdin", d.Stdin)
	array, err := d.arrays()
	if err != nil {
		return nil, err
	}
	all = append(append(all, array...), d.placement.edits(d)...)
	lists, err := d.lists()
	if err != nil {
		return nil, err
	}
	all = append(all, lists...)
	if d.Project != "" {
		all = append(all, Change{Path: "project", Value: d.Project, Flag: "--project", soft: !d.Cmd.Flags().Changed("project")})
	}
	if d.Cmd.Flags().Changed("name") { // a name given is meant, whatever the file makes names of
		all = append(all, Change{Path: "namePrefix", remove: true})
	}
	if d.Cmd.Flags().Changed("prefix") {
		all = append(all, Change{Path: "name", remove: true})
	}
	more, err := d.maps()
	if err != nil {
		return nil, err
	}
	all = append(all, more...)
	// Words are arguments of a command that a file or a template has; like another
	// workload means that they take the place of its own.
	if len(argv) > 0 && (d.File != "" || d.Base != nil && d.LikeName == "" && d.Base.Command.String() != "") {
		all = append(all, Change{Path: "args", Value: argv, Flag: "--"})
	} else if len(argv) > 0 {
		all = append(all, Change{Path: "command", Value: argv, Flag: "--"})
	}
	return all, nil
}

// arrays are what --array says: N, or 0-L up to the last, and with %M so many at once.
func (d *DocumentFlags) arrays() ([]Change, error) {
	if !d.Cmd.Flags().Changed("array") {
		return nil, nil
	}
	all, most, bounded := strings.Cut(d.array, "%")
	var out []Change
	for _, x := range []struct{ path, text string }{{"array.completions", all}, {"array.parallelism", most}} {
		if x.path == "array.parallelism" && !bounded {
			break
		}
		last, ranged := strings.CutPrefix(x.text, "0-")
		n, err := strconv.Atoi(last)
		if ranged {
			n++
		}
		if err != nil || n < 1 || ranged && x.path != "array.completions" {
			return nil, session.UsageError(fmt.Sprintf("--array %s: is not a number of tasks", d.array), "write --array 20 for those from 0 to 19, or --array 20%4 with 4 of them at once; numbers that begin elsewhere are what sbatch --array has")
		}
		out = append(out, Change{Path: x.path, Value: n, Flag: "--array"})
	}
	return out, nil
}

// maps are the flags that set one entry of a map, or any field.
func (d *DocumentFlags) maps() ([]Change, error) {
	var all []Change
	for _, e := range d.env {
		k, v, ok := strings.Cut(e, "=")
		if !ok {
			if v, ok = os.LookupEnv(k); !ok {
				return nil, session.UsageError(fmt.Sprintf("--env %s: the variable is not set here", k), "write --env "+k+"=value")
			}
		}
		all = append(all, Change{Path: "env", Key: k, Value: v, Flag: "--env"})
	}
	for _, l := range d.labels {
		k, v, ok := strings.Cut(l, "=")
		if !ok || k == "" {
			return nil, session.UsageError(fmt.Sprintf("--label %s: is not key=value", l), "write --label team=vision")
		}
		all = append(all, Change{Path: "labels", Key: k, Value: v, Flag: "--label"})
	}
	for _, l := range d.placement.selector {
		k, v, ok := strings.Cut(l, "=")
		if !ok || k == "" {
			return nil, session.UsageError(fmt.Sprintf("--node-selector %s: is not key=value", l), "write --node-selector zone=a")
		}
		all = append(all, Change{Path: "nodeSelector", Key: k, Value: v, Flag: "--node-selector"})
	}
	for _, e := range d.placement.extended {
		name, n, ok := strings.Cut(e, "=")
		if !ok || name == "" {
			return nil, session.UsageError(fmt.Sprintf("--extended %s: is not NAME=COUNT", e), "write --extended rdma/hca_shared_devices_a=1")
		}
		all = append(all, Change{Path: "resources.extended", Key: name, Value: json.RawMessage(jsonNumber(n)), Flag: "--extended"})
	}
	for _, l := range d.placement.licenses {
		counts, err := slurm.Licenses(l)
		if err != nil {
			return nil, session.UsageError("--license "+l+": "+err.Error(), "write --license matlab=2")
		}
		for _, name := range slices.Sorted(maps.Keys(counts)) {
			all = append(all, Change{Path: "licenses", Key: name, Value: counts[name], Flag: "--license"})
		}
	}
	for _, set := range d.sets {
		c, err := ParseSet(set)
		if err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	return all, nil
}

// Encode is a document as it is sent.
func Encode(doc *spec.Document) ([]byte, error) {
	data, err := json.Marshal(doc)
	if err != nil {
		return nil, fmt.Errorf("the document cannot be written: %w", err)
	}
	return data, nil
}
