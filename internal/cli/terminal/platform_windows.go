package terminal

import (
	"os"
	"time"

	"golang.org/x/sys/windows"
)

// notifyResized does nothing: Windows sends no signal, and a task keeps the size
// that the terminal had when it was entered.
func notifyResized(chan<- os.Signal) {}

// Readable waits until there is something to read in a terminal, for so long.
func Readable(f *os.File, wait time.Duration) (bool, error) {
	event, err := windows.WaitForSingleObject(windows.Handle(f.Fd()), uint32(wait/time.Millisecond))
	return event == windows.WAIT_OBJECT_0, err
}
