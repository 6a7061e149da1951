package spec

import (
	"reflect"
	"testing"
)

const listsText = `image: ghcr.io/acme/train:1.4
secrets:
  - hf-token
  - name: key
    env: KEY
integrations:
  - git:
      repo: acme/train
      ssh: false
  - pip:
      packages:
        - einops
volumes:
  - path: /data
    hostPath: /srv/data
  - path: /scratch
    temporary: 4Gi
  - path: /tmp
    temporary: {}
  - path: /etc/app
    config:
      run.sh: |
        a
        b
ports:
  - 8888
  - port: 6006
    name: board
runAs:
  user: 0
array:
  grid:
    lr:
      - 0.1
      - 0.01
    opt:
      - name: sgd
        nesterov: true
      - []
retry:
  rules:
    - exitCodes:
        - 42
        - 137
      action: retryFree
`

func TestListsReadAndWriteAlike(t *testing.T) {
	t.Parallel()
	d := mustParse(t, listsText)
	if got := string(YAML(d)); got != listsText {
		t.Errorf("%s", got)
	}
	if d.Secrets[0] != (SecretUse{Name: "hf-token"}) || d.Secrets[1] != (SecretUse{Name: "key", Env: "KEY"}) {
		t.Errorf("%+v", d.Secrets)
	}
	if d.Ports[0] != (Port{Port: 8888}) || d.Ports[1] != (Port{Port: 6006, Name: "board"}) {
		t.Errorf("%+v", d.Ports)
	}
	if v := d.Volumes; v[1].Temporary.Size.Units() != 4<<30 || v[2].Temporary == nil || v[0].Temporary != nil || v[3].Config["run.sh"] != "a\nb\n" {
		t.Errorf("%+v", v)
	}
	if g := d.Integrations[0].Git; g.SSH == nil || *g.SSH || d.Integrations[1].Git != nil {
		t.Errorf("%+v", g)
	}
	if *d.RunAs.User != 0 || d.RunAs.Group != nil || !reflect.DeepEqual(d.Retry.Rules[0].ExitCodes, []int{42, 137}) {
		t.Errorf("%+v %+v", d.RunAs, d.Retry)
	}
}

func TestLongFormsAreWrittenShort(t *testing.T) {
	t.Parallel()
	long := mustParse(t, "secrets: [{name: a}]\nports: [{port: 80}]\nvolumes: [{path: /a, temporary: {size: 1Gi}}]\n")
	short := mustParse(t, "secrets: [a]\nports: [80]\nvolumes: [{path: /a, temporary: 1Gi}]\n")
	if !long.Equal(short) || string(YAML(long)) != string(YAML(short)) {
		t.Errorf("%s\n%s", YAML(long), YAML(short))
	}
}

func TestEmptyListsAreAbsent(t *testing.T) {
	t.Parallel()
	if a, b := mustParse(t, "command: ls\nvolumes: []\nretry: {rules: []}\nargs: []\n"), mustParse(t, "command: ls\n"); !reflect.DeepEqual(a, b) {
		t.Errorf("%s", YAML(a))
	}
}

func TestLinesInsideListsOfJSON(t *testing.T) {
	t.Parallel()
	_, err := Load([]byte("{\"image\": \"i\",\n\"volumes\": [\n{\"path\": \"/a\", \"temporary\": \"1Gi\"},\n{\"path\": \"/b\",\n\"hostPath\": \"b\"},\n{\"path\": \"/c\"}]}"))
	const want = "line 5: volumes[1].hostPath: \"b\" is not an absolute path; begin it with '/'\n" +
		"line 6: volumes[2]: has no source; add one of hostPath, temporary, config, secret, claim"
	if err == nil || err.Error() != want {
		t.Errorf("%v", err)
	}
}

func TestLaterFieldsInsideListsAreKept(t *testing.T) {
	t.Parallel()
	d := new(Document)
	if err := d.UnmarshalJSON([]byte(`{"volumes":[{"path":"/a","invented":1}],"ports":[80]}`)); err != nil || d.Volumes[0].Path != "/a" || d.Ports[0].Port != 80 {
		t.Errorf("%+v %v", d, err)
	}
}
