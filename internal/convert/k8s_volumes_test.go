package convert_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/musterhq/muster/internal/convert"
)

// mounted are the volumes of a document in few words.
func mounted(t *testing.T, text string) string {
	t.Helper()
	var all []string
	for _, v := range imported(t, []byte(text)).Documents[0].Volumes {
		what := "?"
		if v.Temporary != nil {
			what = fmt.Sprintf("temporary disk=%v %s", v.Temporary.Disk, v.Temporary.Size)
		}
		all = append(all, v.Path+" "+what)
	}
	return strings.Join(all, ", ")
}

// What a StatefulSet claims for each of its replicas is a directory of each, and what
// ends with it is told: a mount of it was refused as one of nothing.
func TestClaimsOfReplicasAreDirectories(t *testing.T) {
	text := `apiVersion: apps/v1
kind: StatefulSet
metadata: {name: keeper}
spec:
  replicas: 1
  template:
    spec:
      containers:
      - name: a
        image: keeper
        volumeMounts: [{name: data, mountPath: /var/lib/keeper}, {name: data, mountPath: /var/lib/log, subPath: log}]
  volumeClaimTemplates:
  - metadata: {name: data}
    spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 10Gi}}}
`
	if got, want := mounted(t, text), "/var/lib/keeper temporary disk=true 10Gi, /var/lib/log temporary disk=true 10Gi"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if all := lost(imported(t, []byte(text))); len(all) != 1 || !strings.Contains(all[0], "spec.volumeClaimTemplates") || !strings.Contains(all[0], "ends with it") {
		t.Errorf("lost: %q", all)
	}
	if _, err := convert.Import([]byte(strings.Replace(text, "metadata: {name: data}", "metadata: {name: other}", 1))); err == nil || !strings.Contains(err.Error(), `there is no volume "data"`) {
		t.Errorf("another claim: %v", err)
	}
}

// So it is for the pods of a LeaderWorkerSet.
func TestClaimsOfGroupsAreDirectories(t *testing.T) {
	pod := `{spec: {containers: [{name: a, image: vllm, command: [serve], volumeMounts: [{name: cache, mountPath: /cache}]}]}}`
	text := "apiVersion: leaderworkerset.x-k8s.io/v1\nkind: LeaderWorkerSet\nmetadata: {name: big}\nspec:\n  leaderWorkerTemplate:\n    size: 2\n    leaderTemplate: " + pod + "\n    workerTemplate: " + pod +
		"\n    volumeClaimTemplates: [{metadata: {name: cache}, spec: {resources: {requests: {storage: 1Gi}}}}]\n"
	if got, want := mounted(t, text), "/cache temporary disk=true 1Gi"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if all := lost(imported(t, []byte(text))); len(all) != 1 || !strings.Contains(all[0], "volumeClaimTemplates") {
		t.Errorf("lost: %q", all)
	}
}

// A volume of a pod's own lives as long as the pod: a directory of the task is that.
func TestVolumesOfAPodAloneLoseNothing(t *testing.T) {
	text := `apiVersion: apps/v1
kind: Deployment
metadata: {name: llm}
spec:
  template:
    spec:
      containers: [{name: llm, image: tgi, volumeMounts: [{name: models, mountPath: /data}, {name: bare, mountPath: /bare}]}]
      volumes:
      - name: models
        ephemeral: {volumeClaimTemplate: {metadata: {labels: {type: ephemeral}}, spec: {accessModes: [ReadWriteOnce], storageClassName: premium-rwo, resources: {requests: {storage: 150Gi}}}}}
      - {name: bare, ephemeral: {volumeClaimTemplate: {spec: {accessModes: [ReadWriteOnce]}}}}
`
	if got, want := mounted(t, text), "/data temporary disk=true 150Gi, /bare temporary disk=true 0"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if all := lost(imported(t, []byte(text))); len(all) > 0 {
		t.Errorf("lost: %q", all)
	}
}
