package admin

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/cli/session"
)

// valueMost bounds what is read for a value, in bytes; the server takes less.
const valueMost = 4 << 20

// readValue returns the content of a file; - is standard input.
func readValue(s *session.Session, file string) ([]byte, error) {
	var in io.Reader = s.IO.In
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return nil, session.UsageError(err.Error(), "give the path of a file, or - for standard input")
		}
		defer f.Close()
		in = f
	} else if s.IO.InTerminal {
		s.Say("reading the value from the terminal; end with Ctrl-D")
	}
	data, err := io.ReadAll(io.LimitReader(in, valueMost+1))
	if err != nil {
		return nil, session.UsageError(err.Error(), "give the path of a file, or - for standard input")
	}
	if len(data) > valueMost {
		return nil, session.UsageError(fmt.Sprintf("%s has more than %d bytes", file, valueMost), "put large data into a volume")
	}
	return data, nil
}

// mainValue finds the value of a secret: on the command line, in a file, on
// standard input, or by asking for it.
func mainValue(ctx context.Context, s *session.Session, o *secretOptions, t secretType, given string, in *api.NewSecret) error {
	if o.passwordStdin {
		if o.fromFile != "" {
			return session.UsageError("--password-stdin contradicts --from-file", "leave one of them out")
		}
		o.fromFile = "-"
	}
	switch {
	case t.main == "" && o.fromFile != "":
		return session.UsageError(fmt.Sprintf("--from-file is not for a secret of type %s, which has several files", t.name), "give each with its own flag")
	case t.main == "":
		return nil
	case given != "" && o.fromFile != "":
		return session.UsageError("a value on the command line contradicts --from-file and -", "leave one of them out")
	case given != "":
		in.Values[t.main] = []byte(given)
		return nil
	case o.fromFile != "":
		data, err := readValue(s, o.fromFile)
		if err != nil {
			return err
		}
		if !t.file && t.name != "mounted" { // echo and editors end the line
			data = bytes.TrimSuffix(bytes.TrimSuffix(data, []byte("\n")), []byte("\r"))
		}
		if len(data) == 0 {
			from := o.fromFile
			if from == "-" {
				from = "standard input"
			}
			return session.UsageError(from+" is empty, and so the "+t.main+" would be", "give the value there; nothing was stored")
		}
		in.Values[t.main] = data
		return nil
	case t.file || !s.IO.InTerminal:
		return session.UsageError(fmt.Sprintf("the %s of the secret is missing", t.main), "give it with --from-file FILE, or write - to read it from standard input")
	}
	data, err := s.AskHidden(ctx, fmt.Sprintf("%s of %s: ", t.main, in.Name))
	if err == nil && len(data) == 0 {
		err = session.UsageError("the "+t.main+" is empty", "type it, or give it with --from-file FILE")
	}
	in.Values[t.main] = data
	return err
}
