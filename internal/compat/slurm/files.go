package slurm

import (
	"cmp"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/musterhq/muster/internal/cli"
	"github.com/musterhq/muster/internal/compat/slurm/terms"
	"github.com/musterhq/muster/internal/convert/slurm"
	"github.com/musterhq/muster/internal/core/spec"
)

// scriptNote is the annotation of a job that says which file was submitted, with
// its arguments: scripts find the directory that they are in by what scontrol
// shows of it, since what runs is a copy.
const scriptNote = "slurm.muster.dev/script"

// submittedFile notes the file that a job was made of. Its name is in full, so
// that it is found from another directory too.
func submittedFile(doc *spec.Document, name string, args []string) error {
	path, err := filepath.Abs(name)
	if err != nil {
		return err
	}
	notes := maps.Clone(doc.Annotations)
	if notes == nil {
		notes = map[string]string{}
	}
	notes[scriptNote] = strings.Join(append([]string{path}, args...), " ")
	doc.Annotations = notes
	return nil
}

// commandOf is the file that was submitted, with its arguments. Of jobs that no
// file is known of it is the first line of what runs, and of a script that came
// from elsewhere "(null)", as in Slurm.
func commandOf(d *spec.Document) string {
	if file := d.Annotations[scriptNote]; file != "" {
		return file
	}
	line, rest, more := strings.Cut(d.Command.String(), "\n")
	if d.Slurm != nil && more && rest != "" {
		return "(null)"
	}
	return line
}

// outputs are the files that a job's output goes to, in full where it is known
// from which directory they count.
func (r *row) outputs() (stdout, stderr string) {
	d := cli.Document(r.w)
	if d.Slurm == nil || d.Slurm.Output == "" && d.Slurm.Error == "" {
		return "(null)", "(null)"
	}
	return r.file(d, cmp.Or(d.Slurm.Output, d.Slurm.Error)), r.file(d, cmp.Or(d.Slurm.Error, d.Slurm.Output))
}

// input is the file that a job's script reads.
func (r *row) input() string {
	d := cli.Document(r.w)
	if d.Slurm == nil || d.Slurm.Input == "" {
		return os.DevNull
	}
	return r.file(d, d.Slurm.Input)
}

// file is the name that a pattern of a job's file makes.
func (r *row) file(d *spec.Document, pattern string) string {
	host, _ := r.value('B')
	job := strconv.FormatInt(r.w.Number, 10)
	values := map[byte]string{'j': job, 'J': job, 'A': job, 'a': "4294967294", 'x': terms.Name(r.w), 'N': host, 'n': "0", 't': "0", 'u': r.w.User, 's': "batch", '%': "%"}
	if own, array, task, is := r.ofArray(); is {
		values['j'], values['J'], values['A'] = own, own, array
		if _, _, _, member := terms.Member(r.w); member || r.task >= 0 {
			values['a'] = task
		}
	}
	name := slurm.FileName(pattern, values)
	if d.Workdir != "" && !filepath.IsAbs(name) {
		name = d.Workdir + "/" + name // as it is written, ../ and all
	}
	return name
}
