package spec

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"errors"
	"io"
	"strings"
)

// environmentMost bounds the variables that a batch script takes along, in
// bytes. No program can be started with more than some 2 MB.
const environmentMost = 1 << 20

// PackEnvironment is a list of NAME=VALUE as a document keeps it: a submitter
// has a hundred of them, and a job of an array is one of thousands.
func PackEnvironment(vars []string) string {
	if len(vars) == 0 {
		return ""
	}
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, err := io.WriteString(z, strings.Join(vars, "\x00"))
	if err = errors.Join(err, z.Close()); err != nil { // not to memory
		return ""
	}
	return base64.StdEncoding.EncodeToString(b.Bytes())
}

// UnpackEnvironment is the list that a document keeps so. It fails on anything
// else, and on more than can be given to a program.
func UnpackEnvironment(text string) ([]string, error) {
	if text == "" {
		return nil, nil
	}
	no := errors.New("is not what a submission wrote")
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, no
	}
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, no
	}
	vars, err := io.ReadAll(io.LimitReader(z, environmentMost+1))
	if err != nil {
		return nil, no
	}
	if len(vars) > environmentMost {
		return nil, errors.New("holds more than 1 MiB, which no program can be given; write --export with the names that are needed")
	}
	return strings.Split(string(vars), "\x00"), nil
}
