package slurmtools

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/term"

	"github.com/musterhq/muster/internal/convert/slurm"
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/mpi"
)

// keyVar marks the processes of a step.
const keyVar = "MUSTER_SLURM_STEP"

// SrunMain is srun as a batch script finds it: it starts a program in all
// tasks of the workload, and exits with the highest of their codes.
func SrunMain(args []string) int {
	code, err := srun(args)
	if err != nil {
		fmt.Fprintln(os.Stderr, "srun: error:", err)
		return max(code, 1)
	}
	return code
}

// slurms is an error in Slurm's own words, which scripts and people look for.
type slurms string

// Error implements error.
func (s slurms) Error() string { return string(s) }

func inSlurmsWords(format string, args ...any) error { return slurms(fmt.Sprintf(format, args...)) }

// step is one call of srun.
type step struct {
	o     options
	id    int
	key   string
	self  string
	ranks []rank
	hosts []string
	env   map[string]string // what the script has changed
	unset []string
	bare  []string // the environment of a step that has nothing of the script's; nil: it has

	parts    map[int]part // what it holds, by node
	roomFile string       // says so to other steps

	programs [][]string   // of --multi-prog, by rank
	image    *stepImage   // of its containers; nil: it has none
	boxes    map[int]made // by node
	boxDir   string       // where those of the job are
	umask    int          // of srun, and so of what it starts
	input    *feed
	mu       sync.Mutex
	opened   map[string]bool // files of its output
}

func srun(args []string) (int, error) {
	if len(args) == 1 && slices.Contains([]string{"--version", "-V", "--help", "--usage"}, args[0]) {
		self, err := os.Executable()
		if err != nil {
			return 1, err
		}
		return 1, syscall.Exec(self, []string{"srun", args[0]}, os.Environ()) // as outside of a job
	}
	o, err := parse(args)
	if err != nil {
		return 1, err
	}
	if n, err := strconv.Atoi(os.Getenv("SRUN_CPUS_PER_TASK")); err == nil && n > 0 && o.cpus == 0 {
		o.cpus, o.exact, o.ownCPUs = n, true, true
	}
	if len(o.argv) == 0 {
		fmt.Fprintln(os.Stderr, "srun: fatal: No command given to execute.")
		return 1, nil
	}
	if slices.Contains(o.argv, ":") {
		return 1, errors.New("several programs in one step, with : between them, are not taken; use --multi-prog, or start one srun for each in the background")
	}
	dir := os.Getenv(dirVar)
	list := os.Getenv("SLURM_JOB_NODELIST")
	if dir == "" || list == "" {
		return 1, errors.New("it is run by batch scripts of Muster; to submit one use sbatch or muster run -f")
	}
	hosts, err := slurm.Hostnames(list)
	if err != nil {
		return 1, err
	}
	if o.pty && !term.IsTerminal(int(os.Stdin.Fd())) {
		fmt.Fprintln(os.Stderr, "srun: error: Not using a pseudo-terminal, disregarding --pty option")
		o.pty = false
	}
	s := step{o: o, umask: syscall.Umask(0)}
	syscall.Umask(s.umask)
	if err := s.place(dir, hosts); err != nil {
		return 1, err
	}
	defer func() { _ = os.Remove(s.roomFile) }()
	if s.o.pty && (len(s.ranks) > 1 || s.ranks[0].at > 0) {
		return 1, errors.New("--pty is for one process on the first node of a job; muster exec -it gives a terminal on the others")
	}
	if s.o.multi {
		if s.programs, err = programs(o.argv, len(s.ranks)); err != nil {
			return 1, err
		}
	}
	if s.self, err = os.Executable(); err != nil {
		return 1, err
	}
	if s.id, err = nextStep(dir); err != nil {
		return 1, err
	}
	s.key = fmt.Sprintf("%s.%s.%d", os.Getenv("MUSTER_WORKLOAD_ID"), os.Getenv("MUSTER_ATTEMPT"), s.id)
	s.changed(filepath.Join(dir, envFile))
	// Its pid may soon be another program's, which no signal is meant for.
	defer func() { _ = os.Truncate(stepFile(dir, s.id), 0) }()
	r := newRecord()
	if err := s.findImage(r, dir); err != nil {
		return 1, err
	}
	r.began(&s)
	s.o.around.fromEnvironment()
	runBeside(s.o.around.prolog, "prolog_srun")
	code, err := s.run()
	runBeside(s.o.around.epilog, "epilog_srun")
	if err != nil {
		code = max(code, 1)
	}
	r.ended(&s, code)
	return code, err
}

// stopStep has srun stop its step in place: what stopped srun itself would hand nothing
// on any more. It is a signal that nobody else sends.
const stopStep = syscall.Signal(50)

// handedOn are the signals that srun hands on to what it has started.
var handedOn = []os.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGALRM, syscall.SIGCONT, stopStep}

// stepFile has the pid of a step's srun, and nothing once that has ended.
func stepFile(dir string, id int) string { return filepath.Join(dir, "step-"+strconv.Itoa(id)) }

// keyOn marks the step's processes on one node: several nodes may be of one
// machine, where each would find those of the others too.
func (s *step) keyOn(node int) string { return s.key + "@" + strconv.Itoa(node) }

// nextStep takes the next number of a step, whose file has the pid of its srun.
func nextStep(dir string) (int, error) {
	for id := 0; ; id++ {
		f, err := os.OpenFile(stepFile(dir, id), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if errors.Is(err, os.ErrExist) && id < 1_000_000 {
			continue
		}
		if err != nil {
			return 0, err
		}
		_, err = f.WriteString(strconv.Itoa(os.Getpid()))
		return id, errors.Join(err, f.Close())
	}
}

// steps are the pids of every srun of a script that runs.
func steps(dir string) (pids []int) {
	files, _ := filepath.Glob(filepath.Join(dir, "step-*"))
	for _, f := range files {
		data, err := os.ReadFile(f)
		if pid, perr := strconv.Atoi(string(data)); err == nil && perr == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// changed finds what the script has changed of the environment that it began
// with: only that is told to other nodes, which have their own.
func (s *step) changed(file string) {
	s.env = map[string]string{}
	data, err := os.ReadFile(file)
	if err != nil {
		return
	}
	began := strings.Split(string(data), "\x00")
	words := strings.Split(cmp.Or(s.o.export, os.Getenv("SLURM_EXPORT_ENV"), "ALL"), ",")
	for _, part := range words {
		if name, text, has := strings.Cut(part, "="); has {
			s.env[name] = text
		}
	}
	if !slurm.ExportsAll(words) { // nothing of the script's, but what is named
		s.bare = began
		for _, name := range words {
			if text, set := os.LookupEnv(name); set {
				s.env[name] = text
			}
		}
		return
	}
	before := map[string]string{}
	for _, kv := range began {
		name, text, _ := strings.Cut(kv, "=")
		before[name] = text
	}
	for _, kv := range os.Environ() {
		name, text, _ := strings.Cut(kv, "=")
		was, known := before[name]
		delete(before, name)
		if name == "PATH" { // without the script's own commands, which are not elsewhere
			text = strings.TrimPrefix(text, os.Getenv(commandsVar)+string(os.PathListSeparator))
		}
		if _, given := s.env[name]; !given && (!known || was != text) {
			s.env[name] = text
		}
	}
	for name := range before {
		s.unset = append(s.unset, name)
	}
}

// program is what one process of a step is told.
type program struct {
	Dir   string            `json:"dir"`
	Env   map[string]string `json:"env"`
	Unset []string          `json:"unset,omitempty"`
	Bare  bool              `json:"bare,omitempty"` // nothing but Env, and what says where it is
	Soft  map[int]uint64    `json:"soft,omitempty"` // limits of srun, by their numbers
	Argv  []string          `json:"argv"`
	GPUs  int               `json:"gpus,omitempty"` // of each process
	Local int               `json:"local"`
	Of    []int             `json:"of,omitempty"`   // the step's, among the node's; nil: all
	Path  string            `json:"path,omitempty"` // of the script, on the node that it runs on
	Box   *inside           `json:"box,omitempty"`  // the container that it runs in

	Prolog string `json:"prolog,omitempty"` // runs before it
}

// of is the program of one rank.
func (s *step) of(r rank) program {
	env := maps.Clone(s.env)
	n, nodes := len(s.ranks), len(s.hosts)
	counts := make([]int, nodes)
	var gtids []string
	for _, x := range s.ranks {
		if counts[x.node]++; x.node == r.node {
			gtids = append(gtids, strconv.Itoa(x.proc))
		}
	}
	each := spec.SlurmPerNode(counts)
	for name, text := range map[string]string{
		keyVar: s.keyOn(r.at), "SLURM_STEP_ID": strconv.Itoa(s.id), "SLURM_STEPID": strconv.Itoa(s.id),
		"SLURM_PROCID": strconv.Itoa(r.proc), "SLURM_LOCALID": strconv.Itoa(r.local), "SLURM_NODEID": strconv.Itoa(r.node),
		"SLURM_NTASKS": strconv.Itoa(n), "SLURM_NPROCS": strconv.Itoa(n), "SLURM_STEP_NUM_TASKS": strconv.Itoa(n),
		"SLURM_STEP_NUM_NODES": strconv.Itoa(nodes), "SLURM_NNODES": strconv.Itoa(nodes),
		"SLURM_STEP_NODELIST": strings.Join(s.hosts, ","), "SLURM_STEP_TASKS_PER_NODE": each, "SLURM_TASKS_PER_NODE": each, "SLURM_UMASK": fmt.Sprintf("%04o", s.umask),
		"SLURM_GTIDS": strings.Join(gtids, ","), "SLURMD_NODENAME": r.host, "SLURM_LAUNCH_NODE_IPADDR": s.hosts[0],
	} {
		env[name] = text
	}
	around := "block"
	if n <= nodes { // one on each, and no node has a second
		around = "cyclic"
	}
	env["SLURM_DISTRIBUTION"] = cmp.Or(s.o.distribution, os.Getenv("SLURM_DISTRIBUTION"), around)
	if size, is := strings.CutPrefix(s.o.distribution, "plane="); is {
		env["SLURM_DISTRIBUTION"], env["SLURM_DIST_PLANESIZE"] = "plane", size
	}
	if gpus := os.Getenv("SLURM_JOB_GPUS"); gpus != "" && r.at == 0 {
		env["SLURM_STEP_GPUS"] = gpus
	}
	if s.o.label {
		env["SLURM_LABELIO"] = "1"
	}
	if s.o.exact {
		env["SLURM_CPUS_ON_NODE"] = strconv.Itoa(counts[r.node] * max(s.o.cpus, 1))
	}
	if n := os.Getenv("SLURM_NTASKS_PER_GPU"); n != "" {
		env["SLURM_NTASKS_PER_TRES"] = n
	}
	if s.o.cpus > 0 {
		env["SLURM_CPUS_PER_TASK"] = strconv.Itoa(s.o.cpus)
	}
	dir, err := os.Getwd()
	if err != nil || s.o.dir != "" {
		dir = s.o.dir
	}
	if s.image != nil {
		dir = "" // the image's, see contain
	}
	if s.o.name != "" { // a step's own, as srun has it
		env["SLURM_JOB_NAME"] = s.o.name
	}
	p := program{Prolog: s.o.around.taskProlog, Dir: dir, Env: env, Unset: s.unset, Argv: s.o.argv, Bare: s.bare != nil, Soft: softLimits(), GPUs: s.o.gpus, Local: r.local, Of: s.parts[r.at].GPUs}
	if s.o.multi {
		p.Argv = s.programs[r.proc]
	}
	if r.at == 0 && s.bare == nil {
		p.Path = os.Getenv("PATH")
	}
	if s.image != nil {
		s.contain(&p, r)
	}
	return p
}

func (p program) encoded() (string, error) {
	data, err := json.Marshal(p)
	return base64.StdEncoding.EncodeToString(data), err
}

// run starts all ranks and waits for them.
func (s *step) run() (int, error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	s.input = newFeed(os.Stdin)
	closeBoxes, err := s.openBoxes(ctx)
	defer closeBoxes()
	if err != nil {
		return 1, err
	}
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, handedOn...)
	defer signal.Stop(signals)
	over := make(chan struct{})
	go s.pass(ctx, cancel, signals, over)
	var mu sync.Mutex
	var wg sync.WaitGroup
	worst := 0
	var first error
	for _, r := range s.ranks {
		wg.Go(func() {
			code, err := s.start(ctx, r)
			mu.Lock()
			defer mu.Unlock()
			if err != nil && ctx.Err() == nil {
				code = max(code, 1)
				if first == nil {
					first = fmt.Errorf("task %d on %s: %w", r.proc, r.host, err)
				}
			}
			if code != 0 && ctx.Err() == nil {
				fmt.Fprintf(os.Stderr, "srun: error: %s: task %d: %s\n", r.host, r.proc, ending(code))
			}
			worst = max(worst, code)
			if code != 0 && s.o.killOnBadExit {
				cancel()
			}
		})
	}
	wg.Wait()
	close(over)
	return worst, first
}

// pass hands signals on to what the step has started. What would end srun ends
// the step: its programs are told, and a second one ends them at once.
func (s *step) pass(ctx context.Context, cancel func(), signals <-chan os.Signal, over <-chan struct{}) {
	ending := false
	for {
		select {
		case sig := <-signals:
			if sig == syscall.SIGTERM || sig == syscall.SIGINT {
				if ending {
					cancel()
				}
				ending = true
			}
			if sig == stopStep {
				sig = syscall.SIGSTOP
			}
			s.signal(ctx, sig.(syscall.Signal))
		case <-over:
			return
		}
	}
}

// signal sends a signal to the step's processes on all its nodes.
func (s *step) signal(ctx context.Context, sig syscall.Signal) {
	seen := map[int]bool{}
	for _, r := range s.ranks {
		if seen[r.at] {
			continue
		}
		seen[r.at] = true
		if r.at == 0 {
			signalAll(s.keyOn(0), sig)
			continue
		}
		command := "exec " + spec.ShellWords(s.self, SignalArg, s.keyOn(r.at), strconv.Itoa(int(sig)))
		go func() { _, _ = mpi.Run(ctx, r.host, command, bytes.NewReader(nil), io.Discard, io.Discard) }()
	}
}

// start runs one rank: on the first node as a process of its own, else by the
// agent there.
func (s *step) start(ctx context.Context, r rank) (int, error) {
	text, err := s.of(r).encoded()
	if err != nil {
		return 1, err
	}
	out, errs, closeAll, err := s.streams(r)
	if err != nil {
		return 1, err
	}
	defer closeAll()
	in, closeInput, err := s.stdin(r)
	if err != nil {
		return 1, err
	}
	defer closeInput()
	code, err := s.begin(ctx, r, text, in, out, errs)
	if ctx.Err() == nil {
		s.after(ctx, r, errs)
	}
	return code, err
}

// begin starts a program where a rank is, and waits for its end.
func (s *step) begin(ctx context.Context, r rank, text string, in io.Reader, out, errs io.Writer) (int, error) {
	if r.at > 0 {
		return mpi.Run(ctx, r.host, "exec "+spec.ShellWords(s.self, StepArg, text), in, out, errs)
	}
	cmd := exec.CommandContext(ctx, s.self, StepArg, text)
	cmd.Stdout, cmd.Stderr, cmd.Env = out, errs, s.bare
	if s.o.pty { // the terminal itself, which srun has
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	}
	var err error
	if cmd.Stdin, err = fileOf(in); err != nil {
		return 1, err
	}
	err = cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exitCode(cmd.ProcessState), nil
	}
	return 0, err
}

// after runs the task's epilog where the task has ended. Of what it prints, only that to
// standard error is seen; what becomes of it does not change how the task has ended.
func (s *step) after(ctx context.Context, r rank, errs io.Writer) {
	path := s.o.around.taskEpilog
	if path == "" {
		return
	}
	p := s.of(r)
	p.Prolog, p.Box = "", nil
	p.Argv = []string{"/bin/sh", "-c", `[ -x "$0" ] || exit 254; exec "$0" >/dev/null`, path}
	p.Env["SLURM_SCRIPT_CONTEXT"] = "epilog_task"
	text, err := p.encoded()
	if err != nil {
		return
	}
	code, err := s.begin(ctx, r, text, bytes.NewReader(nil), io.Discard, errs)
	out := bufio.NewWriter(errs)
	defer func() { _ = out.Flush() }()
	switch {
	case code == 254:
		_, _ = fmt.Fprintf(out, stepd(r.host)+"Could not run user task_epilog [%s]: access denied\n", path)
		_, _ = fmt.Fprintln(out, stepd(r.host)+"TaskEpilog failed status=-1")
	case code != 0 || err != nil && ctx.Err() == nil:
		_, _ = fmt.Fprintf(out, stepd(r.host)+"TaskEpilog failed status=%d\n", code<<8)
	}
}

// own are the patterns of files of a rank.
func (s *step) own(r rank) map[byte]string {
	return map[byte]string{'t': strconv.Itoa(r.proc), 'n': strconv.Itoa(r.node), 'N': r.host, 's': strconv.Itoa(s.id), 'J': os.Getenv("SLURM_JOB_ID") + "." + strconv.Itoa(s.id)}
}

// streams are where a rank's output goes.
func (s *step) streams(r rank) (out, errs io.Writer, closeAll func(), err error) {
	own := s.own(r)
	label := ""
	if s.o.label {
		label = fmt.Sprintf("%*d: ", len(strconv.Itoa(len(s.ranks)-1)), r.proc)
	}
	a, b := &lines{w: os.Stdout, label: label}, &lines{w: os.Stderr, label: label}
	var files []io.Closer
	file := func(pattern string, l *lines) error {
		if pattern == "" {
			return nil
		}
		f, err := s.file(expandPattern(pattern, own))
		if err == nil {
			files, l.w = append(files, f), f
		}
		return err
	}
	if err = file(s.o.output, a); err == nil && s.o.output != "" && s.o.errors == "" {
		b.w = a.w
	}
	if err == nil {
		err = file(s.o.errors, b)
	}
	return a, b, func() {
		a.flush()
		b.flush()
		for _, f := range files {
			_ = f.Close()
		}
	}, err
}

// file is a step's file of that name, which all ranks of one name share: the
// first of them empties it.
func (s *step) file(name string) (*os.File, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	mode := s.o.openMode
	if s.opened[name] {
		mode = "append"
	}
	f, err := openLog(name, mode)
	if err == nil {
		if s.opened == nil {
			s.opened = map[string]bool{}
		}
		s.opened[name] = true
	}
	return f, err
}

// lines writes whole lines, so that those of several ranks do not mix.
type lines struct {
	mu    sync.Mutex
	w     io.Writer
	label string
	rest  []byte
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rest = append(l.rest, p...)
	end := bytes.LastIndexByte(l.rest, '\n') + 1
	if end == 0 {
		return len(p), nil
	}
	err := l.put(l.rest[:end])
	l.rest = append([]byte(nil), l.rest[end:]...)
	return len(p), err
}

func (l *lines) put(text []byte) error {
	if l.label != "" {
		var b bytes.Buffer
		for line := range bytes.Lines(text) {
			b.WriteString(l.label)
			b.Write(line)
		}
		text = b.Bytes()
	}
	_, err := l.w.Write(text)
	return err
}

func (l *lines) flush() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.rest) > 0 {
		rest := l.rest
		if l.label != "" {
			rest = append(rest, '\n')
		}
		_ = l.put(rest)
	}
	l.rest = nil
}
