package access

import "github.com/musterhq/muster/internal/core/rbac"

// Needs are all routes by their patterns, with what each needs: the one place where
// that is decided. A route that is not here cannot be registered, and a test finds
// lines without a route.
func Needs() map[string]Need {
	const (
		project  = "/v1/projects/{project}/"
		workload = project + "workloads/{name}"
	)
	anyone, known, task := Need{At: Anyone}, Need{At: SignedIn}, Need{At: TaskOnly}
	own := func(verb, noun string) Need { return Need{Verb: verb, Noun: noun, At: SignedIn} } // the words are for the audit log
	system := func(verb, noun string) Need { return Need{Verb: verb, Noun: noun, At: System} }
	somewhere := func(verb, noun string) Need { return Need{Verb: verb, Noun: noun, At: Somewhere} }
	inProject := func(verb, noun string) Need { return Need{Verb: verb, Noun: noun, At: InProject} }
	onWorkload := func(verb string) Need { return Need{Verb: verb, Noun: rbac.Workloads, At: OnWorkload} }
	long := func(n Need) Need { n.Long = true; return n }

	all := map[string]Need{
		// What everybody may read who reaches the server, and how one signs in.
		"/": anyone, "GET /healthz": anyone, "GET /livez": anyone, "GET /readyz": anyone, "GET /version": anyone,
		"GET /ui": anyone, "GET " + PagesAt: anyone, "POST /v1/session": anyone,
		"GET " + SharedAt + "{token}": anyone,
		"GET /v1/sign-in":             anyone, "POST /v1/sign-in": anyone, "POST /v1/sign-in/device": anyone, "POST /v1/sign-in/token": anyone, "POST /v1/sign-in/logout": anyone,
		"GET /metrics": system(rbac.Read, rbac.Metrics),

		// What is about nobody, or about whoever asks.
		"GET /docs": known, "GET /openapi.json": known, "GET /openapi.yaml": known, "GET /openapi-3.0.json": known, "GET /openapi-3.0.yaml": known,
		"GET /v1/session": known, "DELETE /v1/session": known, "POST /v1/session/codes": known,
		"GET /v1/server": known, "GET /v1/lifecycle": known, "GET /v1/schema": known,
		"POST /v1/convert": known,
		"GET /v1/secrets":  known, "POST /v1/secrets": own(rbac.Create, rbac.Credentials), "DELETE /v1/secrets/{name}": own(rbac.Delete, rbac.Credentials),
		"GET /v1/notifications": known, "POST /v1/notifications": known, "DELETE /v1/notifications/{name}": known,
		"GET /v1/shares": known, "POST /v1/shares": known, "DELETE /v1/shares/{id}": known,
		"GET /v1/notifications/deliveries": known, "POST /v1/notifications/redeliver": known, "POST /v1/notifications/test": known,
		"GET /v1/auth/whoami": known, "GET /v1/auth/can-i": known,

		// Tasks, of their own workload.
		"GET /v1/self": task, "POST /v1/self/report": task, "POST /v1/self/checkpoint": task, "PATCH /v1/self/metadata": task,
		"POST /v1/self/steps": task, "PATCH /v1/self/steps": task, "POST /v1/self/steps/image": task,

		// Workloads.
		"GET " + project + "workloads":                 inProject(rbac.Read, rbac.Workloads),
		"GET " + project + "rows":                      inProject(rbac.Read, rbac.Workloads),
		"POST " + project + "workloads":                inProject(rbac.Create, rbac.Workloads),
		"POST /v1/workloads:bulk":                      somewhere(rbac.Create, rbac.Workloads),
		"POST /v1/drafts":                              somewhere(rbac.Create, rbac.Workloads),
		"GET " + workload:                              onWorkload(rbac.Read),
		"DELETE " + workload:                           onWorkload(rbac.Delete),
		"PATCH " + workload:                            onWorkload(rbac.Update),
		"PATCH " + workload + "/metadata":              onWorkload(rbac.Update),
		"POST " + project + "workloads/{target}":       onWorkload(rbac.Update),
		"GET " + workload + "/why":                     onWorkload(rbac.Read),
		"GET " + workload + "/tasks":                   onWorkload(rbac.Read),
		"GET " + workload + "/task-states":             onWorkload(rbac.Read),
		"GET " + workload + "/transitions":             onWorkload(rbac.Read),
		"GET " + workload + "/metrics":                 onWorkload(rbac.Read),
		"GET " + workload + "/reported":                onWorkload(rbac.Read),
		"GET " + workload + "/logs":                    long(onWorkload(rbac.Read)),
		"GET " + workload + "/logs/merged":             long(onWorkload(rbac.Read)),
		"GET " + workload + "/logs/search":             onWorkload(rbac.Read),
		"GET " + workload + "/first-error":             onWorkload(rbac.Read),
		"GET " + workload + "/exec":                    long(onWorkload(rbac.Exec)),
		"GET " + workload + "/attach":                  long(onWorkload(rbac.Exec)),
		"GET " + workload + "/portforward":             long(onWorkload(rbac.Exec)),
		"GET /v1/reported":                             somewhere(rbac.Read, rbac.Workloads),
		"GET /v1/first-errors":                         somewhere(rbac.Read, rbac.Workloads),
		"GET /v1/transitions":                          somewhere(rbac.Read, rbac.Workloads),
		"GET /v1/watch":                                long(somewhere(rbac.Read, rbac.Workloads)),
		"GET /v1/stream":                               long(somewhere(rbac.Read, rbac.Workloads)),
		"POST /v1/bulk-actions":                        somewhere(rbac.Read, rbac.Workloads),
		"GET /v1/bulk-actions":                         known,
		"GET /v1/bulk-actions/{id}":                    known,
		"POST /v1/bulk-actions/{id}/cancel":            known,
		"GET /v1/bulk-actions/{id}/outcomes":           known,
		"GET " + project + "assets":                    {Verb: rbac.Read, Noun: rbac.Templates, At: OnAsset},
		"GET " + project + "effective-policies/{name}": {Verb: rbac.Read, Noun: rbac.Policies, At: OnAsset},
		"GET " + project + "schedules":                 inProject(rbac.Read, rbac.Workloads), // each is looked at by its kind and owner
		"POST " + project + "schedules":                inProject(rbac.Create, rbac.Workloads),
		"GET " + project + "schedules/{name}":          inProject(rbac.Read, rbac.Workloads),
		"PUT " + project + "schedules/{name}":          inProject(rbac.Update, rbac.Workloads),
		"PATCH " + project + "schedules/{name}":        inProject(rbac.Update, rbac.Workloads),
		"DELETE " + project + "schedules/{name}":       inProject(rbac.Delete, rbac.Workloads),
		"POST " + project + "schedules/{name}/suspend": inProject(rbac.Update, rbac.Workloads),
		"POST " + project + "schedules/{name}/resume":  inProject(rbac.Update, rbac.Workloads),
		"POST " + project + "schedules/{name}/run":     inProject(rbac.Update, rbac.Workloads),
		"POST /v1/what-if":                             somewhere(rbac.Update, rbac.Projects),
		"POST /v1/apply":                               known, // each record is looked at by itself
		"GET /v1/quota":                                somewhere(rbac.Read, rbac.Projects),
		"GET /v1/budgets":                              somewhere(rbac.Read, rbac.Projects),
		"GET /v1/prices":                               somewhere(rbac.Read, rbac.Projects),
		"PUT /v1/prices":                               system(rbac.Update, rbac.Settings),
		"GET /v1/user-limits":                          known, // one's own, or all with read:users
		"PUT /v1/user-limits/{name}":                   system(rbac.Update, rbac.Settings),
		"PATCH /v1/user-limits/{name}":                 system(rbac.Update, rbac.Settings),
		"DELETE /v1/user-limits/{name}":                system(rbac.Update, rbac.Settings),
		"GET /v1/report":                               somewhere(rbac.Read, rbac.Dashboards),
		"POST /v1/report-mails":                        somewhere(rbac.Read, rbac.Dashboards),
		"POST /v1/weekly-reports":                      somewhere(rbac.Read, rbac.Dashboards),
		"GET /v1/weekly-reports":                       known,
		"DELETE /v1/weekly-reports/{id}":               known,
		"GET /v1/usage":                                somewhere(rbac.Read, rbac.Dashboards),
		"GET /v1/metrics":                              somewhere(rbac.Read, rbac.Dashboards),
		"GET /v1/holdings":                             somewhere(rbac.Read, rbac.Nodes),
		"GET /v1/holdings/course":                      somewhere(rbac.Read, rbac.Nodes),
		"GET /v1/cluster":                              somewhere(rbac.Read, rbac.Nodes),
		"GET /v1/nodes":                                somewhere(rbac.Read, rbac.Nodes),
		"GET /v1/nodes/{name}":                         somewhere(rbac.Read, rbac.Nodes),
		"GET /v1/nodes/{name}/metrics":                 somewhere(rbac.Read, rbac.Nodes),
		"GET /v1/clusters":                             somewhere(rbac.Read, rbac.Clusters),
		"GET /v1/clusters/{name}":                      somewhere(rbac.Read, rbac.Clusters),

		// What has to be approved first, and by whom.
		"POST " + project + "checks/{name}/test":     {Verb: rbac.Update, Noun: rbac.Policies, At: OnAsset},
		"GET " + project + "checks/{name}/images":    {Verb: rbac.Read, Noun: rbac.Policies, At: OnAsset},
		"DELETE " + project + "checks/{name}/images": {Verb: rbac.Update, Noun: rbac.Policies, At: OnAsset},
		"GET /v1/approvals":                          known, // each is looked at by its workload
		"GET /v1/delegations":                        known, // one's own, or all with read:access-rules
		"POST /v1/delegations":                       own(rbac.Approve, rbac.Workloads),
		"DELETE /v1/delegations":                     own(rbac.Approve, rbac.Workloads),

		// Who may do what, and who did.
		"GET /v1/access":                     known,
		"PUT /v1/access":                     system(rbac.Update, rbac.Settings),
		"PUT /v1/access/audit":               system(rbac.Update, rbac.Settings),
		"GET /v1/users":                      somewhere(rbac.Read, rbac.Users),
		"POST /v1/users":                     system(rbac.Create, rbac.Users),
		"PATCH /v1/users/{name}":             system(rbac.Update, rbac.Users),
		"DELETE /v1/users/{name}":            system(rbac.Delete, rbac.Users),
		"GET /v1/service-accounts":           somewhere(rbac.Read, rbac.ServiceAccounts),
		"POST /v1/service-accounts":          system(rbac.Create, rbac.ServiceAccounts),
		"PATCH /v1/service-accounts/{name}":  system(rbac.Update, rbac.ServiceAccounts),
		"DELETE /v1/service-accounts/{name}": system(rbac.Delete, rbac.ServiceAccounts),
		"GET /v1/roles":                      known,
		"GET /v1/roles/{name}":               known,
		"POST /v1/roles":                     system(rbac.Create, rbac.Roles),
		"DELETE /v1/roles/{name}":            system(rbac.Delete, rbac.Roles),
		"GET /v1/access-rules":               known, // one's own, and those of scopes that one may read
		"POST /v1/access-rules":              somewhere(rbac.Create, rbac.AccessRules),
		"DELETE /v1/access-rules/{id}":       somewhere(rbac.Delete, rbac.AccessRules),
		"GET /v1/tokens":                     known, // one's own, or all with read:tokens
		"POST /v1/tokens":                    own(rbac.Create, rbac.Tokens),
		"DELETE /v1/tokens/{id}":             own(rbac.Delete, rbac.Tokens),
		"GET /v1/audit":                      system(rbac.Read, rbac.Audit),
		"GET /v1/audit/verify":               system(rbac.Read, rbac.Audit),
		"GET /v1/audit/export":               long(system(rbac.Read, rbac.Audit)),
	}
	for _, r := range []struct{ path, noun string }{{"/v1/pools", rbac.Pools}, {"/v1/licenses", rbac.Licenses}, {"/v1/reservations", rbac.Reservations}} {
		all["GET "+r.path], all["GET "+r.path+"/{name}"] = somewhere(rbac.Read, r.noun), somewhere(rbac.Read, r.noun)
		all["POST "+r.path] = system(rbac.Create, r.noun)
		all["PUT "+r.path+"/{name}"], all["PATCH "+r.path+"/{name}"] = system(rbac.Update, r.noun), system(rbac.Update, r.noun)
		all["DELETE "+r.path+"/{name}"] = system(rbac.Delete, r.noun)
	}
	for _, verb := range []string{"cordon", "uncordon", "label", "taint", "drain"} {
		all["POST /v1/nodes/{name}/"+verb] = system(rbac.Update, rbac.Nodes)
	}
	for _, r := range []struct{ path, noun string }{{"/v1/projects", rbac.Projects}, {"/v1/departments", rbac.Departments}} {
		on := func(verb string) Need { return Need{Verb: verb, Noun: r.noun, At: OnRecord} }
		all["GET "+r.path], all["POST "+r.path] = somewhere(rbac.Read, r.noun), somewhere(rbac.Create, r.noun)
		all["GET "+r.path+"/{name}"], all["DELETE "+r.path+"/{name}"] = on(rbac.Read), on(rbac.Delete)
		all["PUT "+r.path+"/{name}"], all["PATCH "+r.path+"/{name}"] = on(rbac.Update), on(rbac.Update)
		all["PUT "+r.path+"/{name}/rules"], all["POST "+r.path+"/{target}"] = on(rbac.Update), on(rbac.Update)
	}
	for _, r := range []struct{ path, noun string }{
		{"templates", rbac.Templates}, {"environments", rbac.Environments}, {"computes", rbac.ComputeResources}, {"datasources", rbac.DataSources}, {"datavolumes", rbac.DataVolumes}, {"policies", rbac.Policies}, {"checks", rbac.Policies}, {"secrets", rbac.Credentials},
	} {
		on := func(verb string) Need { return Need{Verb: verb, Noun: r.noun, At: OnAsset} }
		all["GET "+project+r.path], all["POST "+project+r.path] = on(rbac.Read), on(rbac.Create)
		all["DELETE "+project+r.path+"/{name}"] = on(rbac.Delete)
		if r.noun == rbac.Credentials {
			continue // they are neither shown nor changed
		}
		all["GET "+project+r.path+"/{name}"], all["PUT "+project+r.path+"/{name}"] = on(rbac.Read), on(rbac.Update)
	}
	return all
}
