package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// sign signs the checksums, and with them all files, by OpenSSH, which is wherever a release
// is verified. The key may be in an agent or in hardware: ssh-keygen asks for what it needs.
func (r *release) sign() error {
	if r.key == "" {
		return nil
	}
	if _, err := os.Stat(r.key); err != nil {
		return fmt.Errorf("--key: %w: name a key as ssh-keygen -t ed25519 makes it", err)
	}
	cmd := exec.Command("ssh-keygen", "-q", "-Y", "sign", "-f", r.key, "-n", "muster", filepath.Join(r.out, sumsFile))
	cmd.Stdin = os.Stdin
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("the checksums are not signed: %w: %s", err, strings.TrimSpace(string(out)))
	}
	return nil
}
