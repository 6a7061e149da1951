package program

import (
	"errors"
	"fmt"
	"io"
	"os"
)

// copySelf puts this program where its one argument says. In a pod it runs from
// its own image, before the others, whose images do not have it.
func copySelf(args []string) int {
	if len(args) != 1 {
		fmt.Fprintln(os.Stderr, "error: __copy takes the path that the program is copied to")
		return 2
	}
	if err := copyTo(args[0]); err != nil {
		fmt.Fprintf(os.Stderr, "error: the program cannot be copied: %v\n", err)
		return 1
	}
	return 0
}

// copyTo writes beside the target and renames, so that no one finds half of it.
func copyTo(target string) error {
	from, err := os.Open("/proc/self/exe")
	if err != nil {
		return err
	}
	defer from.Close()
	part := target + ".part"
	to, err := os.OpenFile(part, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(to, from)
	if err = errors.Join(err, to.Close()); err == nil {
		err = os.Chmod(part, 0o755) // whatever the umask is: others run it
	}
	if err == nil {
		err = os.Rename(part, target)
	}
	if err != nil {
		_ = os.Remove(part)
	}
	return err
}
