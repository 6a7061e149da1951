package firsterror

import "strings"

// sign is a text by which an error of one line is known.
type sign struct {
	kind Kind
	echo bool
	any  []string // one of these is in the line
	all  []string // and all of these
	more int      // how many lines behind it may belong to it
}

// signs are looked at in this order, so that the more exact come first.
var signs = []sign{
	{kind: CUDAMemory, any: []string{"CUDA out of memory", "CUDA_ERROR_OUT_OF_MEMORY", "cudaErrorMemoryAllocation", "HIP out of memory", "CUBLAS_STATUS_ALLOC_FAILED", "torch.OutOfMemoryError", "torch.cuda.OutOfMemoryError"}, more: 3},
	{kind: CUDAMemory, any: []string{"RESOURCE_EXHAUSTED: Out of memory"}, more: 3},
	{kind: NCCL, echo: true, any: []string{"Watchdog caught collective operation timeout", "Some NCCL operations have failed or timed out", "ncclRemoteError", "NCCL communicator was aborted"}, more: 5},
	{kind: NCCL, any: []string{"ncclUnhandledCudaError", "ncclSystemError", "ncclInternalError", "ncclInvalidUsage", "ncclInvalidArgument", "NCCL error in:", "NCCL Error ", "NCCL failure"}, more: 5},
	{kind: NCCL, all: []string{"NCCL WARN", "Cuda failure"}, more: 3},
	{kind: CUDA, any: []string{"CUDA error:", "device-side assert triggered", "an illegal memory access was encountered", "CUDNN_STATUS_EXECUTION_FAILED", "cuda runtime error"}, more: 4},
	{kind: CUDA, all: []string{"NVRM: Xid"}, more: 1},
	{kind: OutOfMemory, any: []string{"Out of memory: Killed process", "Memory cgroup out of memory", "oom-kill event", "oom_kill event", "oom-kill:", "OOM Killed", "OOMKilled"}, more: 2},
	{kind: Terminate, any: []string{"stack smashing detected", "double free or corruption", "free(): invalid pointer", "free(): double free", "malloc(): ", "munmap_chunk(): invalid pointer", "corrupted size vs. prev_size", "pure virtual method called"}, more: 3},
	{kind: Terminate, all: []string{"Assertion `", "' failed"}, more: 2},
	{kind: Signal, any: []string{"Segmentation fault", "Bus error", "Illegal instruction", "Floating point exception", "SIGSEGV", "SIGBUS", "SIGILL", "*** Process received signal ***"}, more: 12},
	{kind: MPI, echo: true, any: []string{"MPI_ABORT was invoked", "mpirun noticed that process rank", "mpiexec noticed that process rank", "Primary job  terminated normally, but"}, more: 5},
}

// echoes are in the last line of tracebacks that report another's end.
var echoes = []string{
	"ChildFailedError", "DistBackendError", "Connection closed by peer", "Connection reset by peer", "Broken pipe",
	"Watchdog caught", "ncclRemoteError", "NCCL communicator was aborted", "torch.distributed.DistNetworkError", "recvValue failed",
	"BrokenPipeError", "ConnectionResetError", "BrokenProcessPool",
}

// recognise returns the error that begins with a line, who takes the rest of
// it, and what a launcher has put before the line.
func recognise(line string) (*Finding, matcher, string) {
	if i := strings.Index(line, tracebackHeader); i >= 0 {
		return &Finding{Kind: Python, Title: line[i:]}, &traceback{}, launcher(line[:i])
	}
	if strings.Contains(line, "Traceback (most recent call last)") && strings.Contains(line, "──") {
		return &Finding{Kind: Python, Title: line}, &traceback{}, "" // in a frame, by rich
	}
	prefix := launcher(line)
	text := strings.TrimPrefix(line, prefix)
	switch {
	case strings.HasPrefix(text, "panic: "):
		return &Finding{Kind: GoPanic, Title: text}, &goroutines{certain: true}, prefix
	case strings.HasPrefix(text, "fatal error: "): // of compilers, too: goroutines must follow
		return &Finding{Kind: GoPanic, Title: text}, &goroutines{}, prefix
	case strings.HasPrefix(text, "thread '") && strings.Contains(text, "' panicked at"):
		return &Finding{Kind: RustPanic, Title: text}, &rest{left: 40}, prefix
	case strings.HasPrefix(text, "terminate called"), strings.HasPrefix(text, "libc++abi: terminating"), strings.HasPrefix(text, "libc++abi.dylib: terminating"):
		return &Finding{Kind: Terminate, Title: text}, &terminate{}, prefix
	case strings.HasPrefix(text, "Fatal Python error: "):
		return &Finding{Kind: Signal, Title: text}, &rest{left: 60, blanks: 2}, prefix
	case syntaxError(text):
		return &Finding{Kind: Python, Title: text}, &rest{}, prefix
	}
	for _, s := range signs {
		if s.fits(text) {
			return &Finding{Kind: s.kind, Title: text, Echo: s.echo}, &rest{left: s.more}, prefix
		}
	}
	return nil, nil, ""
}

func (s sign) fits(text string) bool {
	for _, part := range s.all {
		if !strings.Contains(text, part) {
			return false
		}
	}
	return len(s.any) == 0 || hasAny(text, s.any)
}

// syntaxError reports whether a line ends what Python says of a program that
// it cannot read: that comes without the words of a traceback.
func syntaxError(text string) bool {
	for _, name := range []string{"SyntaxError: ", "IndentationError: ", "TabError: "} {
		if strings.HasPrefix(text, name) {
			return true
		}
	}
	return false
}

// launcher is what torchrun and others put before each line of a process:
// [rank3]: or [default0]: .
func launcher(line string) string {
	if !strings.HasPrefix(line, "[") {
		return ""
	}
	inside, rest, ok := strings.Cut(line[1:], "]")
	if !ok || !strings.HasPrefix(rest, ":") || len(inside) > 40 {
		return ""
	}
	n := 1 + len(inside) + 2
	if strings.HasPrefix(rest, ": ") {
		n++
	}
	return line[:n]
}
