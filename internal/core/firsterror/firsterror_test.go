package firsterror

import (
	"slices"
	"strings"
	"testing"
)

func scan(text string) *Finding {
	var s Scanner
	for line := range strings.Lines(text) {
		s.Line(strings.TrimSuffix(line, "\n"))
	}
	return s.Finish()
}

// outputs hold what each error looks like among other lines; » marks where the
// excerpt begins and « where it has ended.
var outputs = []struct {
	name  string
	kind  Kind
	title string
	echo  bool
	text  string
}{
	{"traceback", Python, "KeyError: 'lr'", false, `epoch 1
»Traceback (most recent call last):
  File "train.py", line 4, in <module>
    main()
  File "train.py", line 2, in main
    return conf["lr"]
           ~~~~^^^^^^
KeyError: 'lr'
«bye
`},
	{"after a progress bar", Python, "ValueError: x", false, "  1%|    | 1/100\r  2%|    | 2/100\r»Traceback (most recent call last):\n  File \"a\", line 1\nValueError: x\n«next\n"},
	{"a chain", Python, "RuntimeError: b", false, `»Traceback (most recent call last):
  File "a.py", line 2, in <module>
ValueError: a

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "a.py", line 4, in <module>
RuntimeError: b
«
done
`},
	{"by a launcher", Python, "AssertionError", false, `[rank1]: hello
»[rank1]: Traceback (most recent call last):
[rank1]:   File "a.py", line 2, in <module>
[rank1]:     assert False
[rank1]: AssertionError
«[rank0]: fine
`},
	{"a message of several lines", CUDA, "RuntimeError: CUDA error: device-side assert triggered", false, `»Traceback (most recent call last):
  File "a.py", line 2, in <module>
RuntimeError: CUDA error: device-side assert triggered
CUDA kernel errors might be asynchronously reported at some other API call.
For debugging consider passing CUDA_LAUNCH_BLOCKING=1
«
x
`},
	{"a child of torchrun", Python, "torch.distributed.elastic.multiprocessing.errors.ChildFailedError:", true, `»Traceback (most recent call last):
  File "torchrun", line 8, in <module>
torch.distributed.elastic.multiprocessing.errors.ChildFailedError:
============================================================
train.py FAILED
«
x
`},
	{"syntax", Python, "SyntaxError: invalid syntax", false, `»  File "a.py", line 1
    def f(:
          ^
SyntaxError: invalid syntax
«`},
	{"CUDA memory in a traceback", CUDAMemory, "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.", false, `»Traceback (most recent call last):
  File "a.py", line 2, in <module>
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.
«`},
	{"CUDA memory alone", CUDAMemory, "CUDA out of memory: tried 2 GiB", false, "»a\nb\nCUDA out of memory: tried 2 GiB\n«\nc\n"},
	{"NCCL watchdog", NCCL, "[E ProcessGroupNCCL.cpp:616] [Rank 3] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=7)", true,
		"»[E ProcessGroupNCCL.cpp:616] [Rank 3] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=7)\n«\n"},
	{"NCCL error", NCCL, "ncclSystemError: System call (e.g. socket, malloc) or external library call failed.", false,
		"»ncclSystemError: System call (e.g. socket, malloc) or external library call failed.\nLast error:\n«\n"},
	{"kernel", OutOfMemory, "Out of memory: Killed process 4321 (python3) total-vm:1kB", false, "»Out of memory: Killed process 4321 (python3) total-vm:1kB\n«"},
	{"Go", GoPanic, "panic: runtime error: index out of range [3] with length 3", false, `»x
panic: runtime error: index out of range [3] with length 3

goroutine 1 [running]:
main.main()
	/a/main.go:5 +0x1d
«exit status 2`},
	{"Go deadlock", GoPanic, "fatal error: all goroutines are asleep - deadlock!", false, `»fatal error: all goroutines are asleep - deadlock!

goroutine 1 [chan receive]:
main.main()
«
goroutine 2 [x]:
`},
	{"Rust", RustPanic, "thread 'main' panicked at src/main.rs:2:5:", false, "»thread 'main' panicked at src/main.rs:2:5:\nboom\n«\n"},
	{"C++", Terminate, "terminate called after throwing an instance of 'std::runtime_error':  bad", false, "»terminate called after throwing an instance of 'std::runtime_error'\n  what():  bad\nAborted (core dumped)\n«next\n"},
	{"assert", Terminate, "a.out: a.c:3: main: Assertion `x > 0' failed.", false, "»a.out: a.c:3: main: Assertion `x > 0' failed.\n«"},
	{"segfault", Signal, "Segmentation fault (core dumped)", false, "»one\nSegmentation fault (core dumped)\n«\n"},
	{"segfault in Python", Signal, "Fatal Python error: Segmentation fault", false, "»Fatal Python error: Segmentation fault\n\nCurrent thread 0x1 (most recent call first):\n  File \"a.py\", line 3 in f\n«\n\nx\n"},
	{"MPI", MPI, "MPI_ABORT was invoked on rank 0 in communicator MPI_COMM_WORLD", true, "»MPI_ABORT was invoked on rank 0 in communicator MPI_COMM_WORLD\n«\n"},
	{"colours", CUDAMemory, "CUDA out of memory", false, "\x1b[31m»CUDA out of memory\x1b[0m\n«\n"},
	{"nothing", "", "", false, "loss 0.1\nno errors found\nfatal error: foo.h: No such file\nall panic: averted is not at the start\nretrying\n"},
	{"empty", "", "", false, ""},
}

func TestOutputs(t *testing.T) {
	t.Parallel()
	for _, c := range outputs {
		f := scan(strings.NewReplacer("»", "", "«", "").Replace(c.text))
		if c.kind == "" {
			if f != nil {
				t.Errorf("%s: found %+v", c.name, *f)
			}
			continue
		}
		if f == nil {
			t.Errorf("%s: nothing found", c.name)
			continue
		}
		if f.Kind != c.kind || f.Title != c.title || f.Echo != c.echo {
			t.Errorf("%s: %s, %q, echo %v", c.name, f.Kind, f.Title, f.Echo)
		}
		_, want, _ := strings.Cut(c.text, "»")
		want, _, _ = strings.Cut(want, "«")
		want = strings.ReplaceAll(strings.ReplaceAll(want, "[rank1]: ", ""), "\x1b[0m", "")
		if got := strings.Join(f.Excerpt, "\n"); got != strings.TrimRight(want, "\n") {
			t.Errorf("%s: excerpt\n%s\nwant\n%s", c.name, got, want)
		}
		lines := strings.Split(strings.NewReplacer("»", "", "«", "").Replace(c.text), "\n")
		if first := strings.TrimSpace(f.Excerpt[0]); !strings.Contains(lines[f.From-1], first) {
			t.Errorf("%s: line %d is %q, want %q", c.name, f.From, lines[f.From-1], first)
		}
	}
}

func TestOnlyTheFirstCounts(t *testing.T) {
	t.Parallel()
	f := scan("a\nSegmentation fault\n\nTraceback (most recent call last):\n  x\nValueError: y\n")
	if f == nil || f.Kind != Signal || f.Line != 2 {
		t.Errorf("%+v", f)
	}
	if f = scan("fatal error: foo.h: No such file\nSegmentation fault\n"); f == nil || f.Kind != Signal || f.Line != 2 {
		t.Errorf("what was none hides the next: %+v", f)
	}
}

// TestAnEndlessTraceback keeps its beginning and its end.
func TestAnEndlessTraceback(t *testing.T) {
	t.Parallel()
	var s Scanner
	s.Line("Traceback (most recent call last):")
	for range 100_000 {
		s.Line("  File \"deep.py\", line 2, in f")
	}
	s.Line("RecursionError: maximum recursion depth exceeded")
	s.Line("")
	s.Line("other")
	if !s.Done() || s.Lines() != 100_004 {
		t.Errorf("done %v after %d lines", s.Done(), s.Lines())
	}
	f := s.Finish()
	if n := len(f.Excerpt); n > headLines+tailLines+1 || f.Excerpt[0] != tracebackHeader || f.Excerpt[n-1] != f.Title || !slices.Contains(f.Excerpt, "…") {
		t.Errorf("%d lines, title %q", n, f.Title)
	}
}

func TestBefore(t *testing.T) {
	t.Parallel()
	cause, echo := &Finding{}, &Finding{Echo: true}
	if !Before(cause, echo) || Before(echo, cause) || Before(cause, cause) {
		t.Error("a cause comes before what it led to")
	}
}
