package admin

// secretType says how `muster secret create` is told a secret of one type. What
// the values may be is the server's to say.
type secretType struct {
	name, doc string
	// main is the value that --from-file, - or a prompt gives.
	main string
	// file says that main is a whole file, which nobody types.
	file   bool
	values []secretPart // further values, each from a file
	fields []secretPart // what is not secret
}

// secretPart is a value or a field with the flag that gives it.
type secretPart struct {
	name, flag string
	needed     bool
}

var (
	mountPath  = secretPart{name: "path", flag: "path"}
	typesByUse = []secretType{
		{name: "env", doc: "a variable of the tasks", main: "value", fields: []secretPart{{name: "variable", flag: "variable"}}},
		{name: "mounted", doc: "a file that tasks see, its path in $SECRET_PATH_NAME", main: "value", fields: []secretPart{mountPath}},
		{name: "docker", doc: "user and password of an image registry", main: "password", fields: []secretPart{{name: "username", flag: "username", needed: true}, {name: "server", flag: "registry"}}},
		{name: "ssh", doc: "a private key", main: "key", file: true, fields: []secretPart{mountPath}},
		{name: "git-ssh", doc: "a private key that git uses", main: "key", file: true, fields: []secretPart{mountPath}},
		{name: "sftp-ssh", doc: "a private key that Composer uses", main: "key", file: true, values: []secretPart{{name: "known-hosts", flag: "known-hosts-file"}}, fields: []secretPart{mountPath}},
		{name: "s3", doc: "files for AWS and what speaks its protocol", values: []secretPart{{name: "config", flag: "config-file", needed: true}, {name: "credentials", flag: "credentials-file", needed: true}}, fields: []secretPart{mountPath}},
		{name: "gcp", doc: "a credentials file of Google Cloud", main: "credentials", file: true, fields: []secretPart{mountPath}},
		{name: "oci", doc: "files for Oracle Cloud", values: []secretPart{{name: "config", flag: "config-file", needed: true}, {name: "key", flag: "key-file", needed: true}}, fields: []secretPart{mountPath}},
		{name: "databricks", doc: "host and token of a workspace", main: "token", fields: []secretPart{{name: "host", flag: "host", needed: true}}},
		{name: "hf", doc: "a token of Hugging Face", main: "token"},
	}
)
