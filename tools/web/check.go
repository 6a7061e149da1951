package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
)

// compiler is the TypeScript compiler as a program of its own: since version 7
// it needs no node. It is used by tests only, and is no part of what is served.
var compiler = map[string]struct{ pkg, integrity string }{
	"linux/amd64": {"@typescript/typescript-linux-x64", "sha512-EYdf2cNg7rgCWJnxCdJ+F3V39O8ihb37eHAu1LK8oAFizgTQbPOK7zHHXbPt8rX24COqODXeI3sIf0fCXG7H/A=="},
	"linux/arm64": {"@typescript/typescript-linux-arm64", "sha512-Qh4eU4/y3yDjnfjjyPYihMj5/ODIlmt+Bzu17OI+fiSRDW57QmU5SiN63exPRNJPKUzcc1INa1NXdrJ+MqHjUQ=="},
}

const compilerVersion = "7.0.2"

// check runs the compiler over web/src. It is fetched once, to the folder bin,
// which is not committed.
func check(web string, _ []string) error {
	c, ok := compiler[runtime.GOOS+"/"+runtime.GOARCH]
	if !ok {
		return fmt.Errorf("no compiler is known for %s/%s; add it to tools/web/check.go", runtime.GOOS, runtime.GOARCH)
	}
	dir := filepath.Join(web, "..", "bin", "typescript-"+compilerVersion)
	tsc := filepath.Join(dir, "lib", "tsc")
	if _, err := os.Stat(tsc); errors.Is(err, os.ErrNotExist) {
		if err := install(pkg{Name: c.pkg, Version: compilerVersion, Integrity: c.integrity}, dir); err != nil {
			return err
		}
	}
	cmd := exec.Command(tsc, "--noEmit", "--project", filepath.Join(web, "tsconfig.json"))
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("the types of web/src are wrong: %w", err)
	}
	return nil
}

// install unpacks a package beside dir and moves it there whole, so that one
// that was interrupted is not taken for complete.
func install(p pkg, dir string) error {
	tgz, err := fetch(p.url(), p.Integrity)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return err
	}
	tmp, err := os.MkdirTemp(filepath.Dir(dir), "fetched-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	err = unpack(tgz, func(name string, content []byte) error {
		to := filepath.Join(tmp, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return err
		}
		return os.WriteFile(to, content, 0o755)
	})
	if err != nil {
		return err
	}
	return os.Rename(tmp, dir)
}
