package compat

import (
	"errors"
	"fmt"

	"github.com/musterhq/muster/internal/cli"
	"github.com/musterhq/muster/internal/convert"
	"github.com/musterhq/muster/internal/convert/source"
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/core/spec/codec"
)

// Load reads the workload of a file in any format that muster knows by its
// content. What it says in vain is told to people.
func Load(c *Call, file string) (*spec.Document, error) {
	doc, _, _, err := Source(c, file)
	return doc, err
}

// Source is Load, with the text that was read and the format that it is in.
func Source(c *Call, file string) (*spec.Document, []byte, source.Format, error) {
	data, err := c.Read(file)
	if err != nil {
		return nil, nil, "", err
	}
	if file == "-" {
		file = "standard input"
	}
	res, err := convert.Import(data)
	if err != nil {
		return nil, nil, "", Refused(file, err)
	}
	Report(c, file, res)
	doc, err := One(file, res)
	return doc, data, res.Format, err
}

// One is the only workload of what was read.
func One(file string, res *source.Result) (*spec.Document, error) {
	if len(res.Documents) == 0 {
		return nil, cli.Wrong(file+" holds nothing that runs", "muster import "+file+" --explain says what it holds")
	}
	if len(res.Documents) != 1 {
		return nil, cli.Wrong(fmt.Sprintf("%s holds %d workloads", file, len(res.Documents)), "muster run -f "+file+" takes them all")
	}
	return res.Documents[0], nil
}

// Report says of everything that has no meaning here, or not quite the same, why.
func Report(c *Call, file string, res *source.Result) {
	for _, n := range res.Notes {
		if n.Fate != source.Ignored && n.Fate != source.Approximated || n.Reason == "" {
			continue
		}
		place := ""
		if file != "" && n.Line > 0 {
			place = fmt.Sprintf("%s:%d: ", file, n.Line)
		}
		c.Say("%s%s: %s", place, n.Field, n.Reason)
	}
}

// Refused is why nothing could be made of a file, or of a command line where
// there is none.
func Refused(file string, err error) error {
	var errs codec.Errors
	if errors.As(err, &errs) {
		return cli.BadDocument(file, errs)
	}
	return err
}
