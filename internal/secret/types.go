package secret

import (
	"slices"
	"strings"
)

// Type is one sort of secret: what it is made of. Types lists them.
type Type struct {
	Name string
	Doc  string // what a task sees of it, one clause
	// Fields are shown to everyone who may list secrets, Values to nobody.
	Fields, Values []Part

	files     []file // what becomes a file
	variables []variable
	env       bool // SecretUse.Env makes sense
	path      bool // SecretUse.Path makes sense
}

// Part is one input of a type.
type Part struct {
	Name     string
	Doc      string
	Optional bool
	Default  string // of a field that is absent

	check func(text []byte) ([]byte, error) // returns it as it is kept
}

// file is a value that a task finds as a file.
type file struct {
	value    string
	leaf     string // its name in the secret's folder
	variable string // that holds its path; %s is the secret's name
}

// variable is one that holds a value or a field itself.
type variable struct{ name, from string }

var pathPart = Part{Name: "path", Doc: "Where its file is in a container. By default /secrets/NAME/secret.", Optional: true, check: absolutePath}
var folderPart = Part{Name: "path", Doc: "Folder of its files in a container. By default /secrets/NAME.", Optional: true, check: absolutePath}
var hosts = Part{Name: "known-hosts", Doc: "Lines of a known_hosts file.", Optional: true, check: anything}

// types is the one place that says which types there are.
var types = []Type{
	{
		Name: "env", Doc: "a variable", env: true,
		Fields:    []Part{{Name: "variable", Doc: "Name of the variable.", check: variableName}},
		Values:    []Part{{Name: "value", Doc: "Its value.", check: variableText}},
		variables: []variable{{"", "value"}},
	}, {
		Name: "mounted", Doc: "a file, its path in $SECRET_PATH_NAME", env: true, path: true,
		Fields: []Part{pathPart},
		Values: []Part{{Name: "value", Doc: "Content of the file.", check: anything}},
		files:  []file{{"value", "secret", "SECRET_PATH_%s"}},
	}, {
		Name: "docker", Doc: "credentials of a registry, for pulling images",
		Fields: []Part{
			{Name: "server", Doc: "The registry.", Default: "https://index.docker.io/v1/", check: server},
			{Name: "username", Doc: "User at the registry.", check: word},
		},
		Values: []Part{{Name: "password", Doc: "Password or token.", check: line}},
	}, {
		Name: "ssh", Doc: "a private key as a file, its path in $SECRET_PATH_NAME", env: true, path: true,
		Fields: []Part{pathPart},
		Values: []Part{{Name: "key", Doc: "Private key.", check: openKey}},
		files:  []file{{"key", "secret", "SECRET_PATH_%s"}},
	}, {
		Name: "git-ssh", Doc: "a private key that git uses; a task can have one", env: true, path: true,
		Fields: []Part{pathPart},
		Values: []Part{{Name: "key", Doc: "Private key.", check: openKey}},
		files:  []file{{"key", "secret", gitKey}},
	}, {
		Name: "sftp-ssh", Doc: "a private key that Composer uses for SFTP", path: true,
		Fields: []Part{folderPart},
		Values: []Part{{Name: "key", Doc: "Private key.", check: openKey}, hosts},
		files: []file{
			{"key", "key", "COMPOSER_SFTP_KEY_FILE"},
			{"known-hosts", "known_hosts", "COMPOSER_SFTP_KNOWN_HOSTS_FILE"},
		},
	}, {
		Name: "s3", Doc: "files for AWS, in $AWS_CONFIG_FILE and $AWS_SHARED_CREDENTIALS_FILE", path: true,
		Fields: []Part{folderPart},
		Values: []Part{
			{Name: "config", Doc: "An AWS config file.", check: anything},
			{Name: "credentials", Doc: "An AWS credentials file.", check: anything},
		},
		files: []file{
			{"config", "config", "AWS_CONFIG_FILE"},
			{"credentials", "credentials", "AWS_SHARED_CREDENTIALS_FILE"},
		},
	}, {
		Name: "gcp", Doc: "a file for Google Cloud, in $GOOGLE_APPLICATION_CREDENTIALS", env: true, path: true,
		Fields: []Part{pathPart},
		Values: []Part{{Name: "credentials", Doc: "Credentials in JSON.", check: jsonText}},
		files:  []file{{"credentials", "secret", "GOOGLE_APPLICATION_CREDENTIALS"}},
	}, {
		Name: "oci", Doc: "files for Oracle Cloud, in $OCI_CONFIG_FILE, $OCI_CLI_CONFIG_FILE and $OCI_CLI_KEY_FILE", path: true,
		Fields: []Part{folderPart},
		Values: []Part{
			{Name: "config", Doc: "An OCI config file; tasks see their own path of the key in it.", check: anything},
			{Name: "key", Doc: "Private key.", check: privateKey},
		},
		files: []file{{"config", "config", "OCI_CONFIG_FILE"}, {"key", "key", "OCI_CLI_KEY_FILE"}},
	}, {
		Name: "databricks", Doc: "$DATABRICKS_HOST and $DATABRICKS_TOKEN",
		Fields:    []Part{{Name: "host", Doc: "The workspace's address.", check: server}},
		Values:    []Part{{Name: "token", Doc: "Access token.", check: line}},
		variables: []variable{{"DATABRICKS_HOST", "host"}, {"DATABRICKS_TOKEN", "token"}},
	}, {
		Name: "hf", Doc: "$HF_TOKEN and $HUGGING_FACE_HUB_TOKEN", env: true,
		Values:    []Part{{Name: "token", Doc: "Access token.", check: line}},
		variables: []variable{{"HF_TOKEN", "token"}, {"HUGGING_FACE_HUB_TOKEN", "token"}},
	},
}

// Types returns every type of secret.
func Types() []Type { return slices.Clone(types) }

// TypeNames is "env, mounted, …", for messages.
func TypeNames() string {
	names := make([]string, len(types))
	for i, t := range types {
		names[i] = t.Name
	}
	return strings.Join(names, ", ")
}

func typeOf(name string) (Type, bool) {
	i := slices.IndexFunc(types, func(t Type) bool { return t.Name == name })
	if i < 0 {
		return Type{}, false
	}
	return types[i], true
}
