package fakebackend

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// forever is a run time, or a time until readiness, that does not end.
const forever = time.Duration(-1)

// words are what a script may say; the package comment says what they mean.
const words = "pull-fails=2 pull-wait=10s init=WORD/2s start=2s run=30s,forever exit=1,0 signal=9 stop=1s waiting=WORD fail=REASON message=TEXT log=LINE ignore-term never-ready"

// script is what one task does, told by its argument vector.
type script struct {
	fails   int           // pulls of its image that fail before one works
	wait    time.Duration // before the second pull; it doubles from one to the next
	init    []step        // what it goes through before it begins to start
	start   time.Duration // until it runs; forever: never
	run     time.Duration // forever: until it is stopped
	exit    int
	signal  int // it ends by this signal instead of an exit code
	deaf    bool
	stop    time.Duration // how long it takes to end when asked politely
	waiting string        // shown until it runs
	fail    string        // instead of running it fails with this reason
	message string
	log     []string
}

// read reads the script of the task with that index in its nth run, from 0.
func read(argv []string, index, nth int) (script, error) {
	s := script{waiting: "ContainerCreating", wait: 10 * time.Second}
	if len(argv) == 0 {
		return s, fmt.Errorf("its command is empty: write [fake, %s]", words)
	}
	if argv[0] != "fake" {
		return s, fmt.Errorf("this backend runs no programs such as %q: write [fake, %s]", argv[0], words)
	}
	for _, arg := range argv[1:] {
		if err := s.word(arg, index, nth); err != nil {
			return s, err
		}
	}
	return s, nil
}

// word takes one argument over. KEY@INDEX speaks to that task only; a list
// tells one run after another, its last entry all that follow.
func (s *script) word(arg string, index, nth int) error {
	key, value, _ := strings.Cut(arg, "=")
	key, only, some := strings.Cut(key, "@")
	if some {
		n, err := strconv.Atoi(only)
		if err != nil {
			return fmt.Errorf("%q: %q is not the index of a task", arg, only)
		}
		if n != index {
			return nil
		}
	}
	if key == "run" || key == "exit" || key == "signal" || key == "start" || key == "fail" || key == "pull-fails" {
		runs := strings.Split(value, ",")
		value = runs[min(nth, len(runs)-1)]
	}
	var err error
	switch key {
	case "pull-fails":
		s.fails, err = strconv.Atoi(value)
	case "pull-wait":
		s.wait, err = length(value)
	case "init":
		var i step
		i, err = readStep(value)
		s.init = append(s.init, i)
	case "start":
		s.start, err = length(value)
	case "run":
		s.run, err = length(value)
	case "stop":
		s.stop, err = length(value)
	case "exit":
		s.exit, err = strconv.Atoi(value)
	case "signal":
		s.signal, err = strconv.Atoi(value)
	case "waiting":
		s.waiting = value
	case "fail":
		s.fail = value
	case "message":
		s.message = value
	case "log":
		s.log = append(s.log, value)
	case "ignore-term":
		s.deaf = true
	case "never-ready":
		s.start = forever
	default:
		return fmt.Errorf("%q is not known: a fake task understands %s", arg, words)
	}
	if err != nil {
		return fmt.Errorf("%q: %w", arg, err)
	}
	return nil
}

// step is a time that a task spends with one word.
type step struct {
	word string
	long time.Duration
}

// readStep reads WORD/DURATION; the word may have slashes itself.
func readStep(s string) (step, error) {
	i := strings.LastIndexByte(s, '/')
	if i <= 0 {
		return step{}, fmt.Errorf("%q is not WORD/DURATION, such as Init:0/2/3s", s)
	}
	d, err := time.ParseDuration(s[i+1:])
	if err != nil || d < 0 {
		return step{}, fmt.Errorf("%q does not end with a duration, such as Init:0/2/3s", s)
	}
	return step{s[:i], d}, nil
}

// steps are what a task goes through before it begins to start, with retries
// of its pull after the first. fails says that the last pull has failed too.
func (s script) steps(retries int) (all []step, fails bool) {
	wait := s.wait
	for try := 1; try <= s.fails; try++ {
		if retries >= 0 && try > retries {
			return all, true
		}
		shown := min(wait/4, 2*time.Second)
		all = append(all, step{"ErrImagePull", shown}, step{"ImagePullBackOff", wait - shown})
		wait = min(wait*2, 30*s.wait)
	}
	return append(all, s.init...), false
}

func length(s string) (time.Duration, error) {
	if s == "forever" {
		return forever, nil
	}
	d, err := time.ParseDuration(s)
	if err == nil && d < 0 {
		err = fmt.Errorf("%s is negative: write a duration such as 30s, or forever", s)
	}
	return d, err
}
