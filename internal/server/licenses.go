package server

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/engine"
)

type licenseOutput struct {
	Status int
	Body   api.License
}

type licensesOutput struct{ Body api.LicenseList }

func (s *Server) licenseRoutes() {
	tags := []string{"licenses"}
	huma.Register(s.api, huma.Operation{
		OperationID: "list-licenses", Method: http.MethodGet, Path: "/v1/licenses", Summary: "Everything that is counted for the whole site, with who holds it", Tags: tags,
	}, func(ctx context.Context, _ *struct{}) (*licensesOutput, error) {
		all, err := s.licenses(ctx)
		return &licensesOutput{Body: api.LicenseList{Items: all}}, s.refusal(err)
	})
	huma.Register(s.api, huma.Operation{
		OperationID: "license", Method: http.MethodGet, Path: "/v1/licenses/{name}", Summary: "One license", Tags: tags,
	}, func(ctx context.Context, in *RecordName) (*licenseOutput, error) {
		return s.oneLicense(ctx, in.Name, http.StatusOK)
	})
	huma.Register(s.api, huma.Operation{
		OperationID: "create-license", Method: http.MethodPost, Path: "/v1/licenses", Summary: "Begin to count a license", Tags: tags, DefaultStatus: http.StatusCreated,
	}, func(ctx context.Context, in *struct {
		DryRunning
		Body api.NewLicense
	}) (*licenseOutput, error) {
		return s.editLicense(ctx, in.DryRun, http.StatusCreated, engine.Edit{What: engine.RecordLicense, Name: in.Body.Name, Must: engine.MustBeNew, License: deciding(in.Body.LicenseSpec)})
	})
	huma.Register(s.api, huma.Operation{
		OperationID: "replace-license", Method: http.MethodPut, Path: "/v1/licenses/{name}", Summary: "Decide everything about a license anew, making it where it is not there", Tags: tags,
	}, func(ctx context.Context, in *struct {
		RecordName
		DryRunning
		Body api.LicenseSpec
	}) (*licenseOutput, error) {
		return s.editLicense(ctx, in.DryRun, http.StatusOK, engine.Edit{What: engine.RecordLicense, Name: in.Name, License: deciding(in.Body)})
	})
	huma.Register(s.api, huma.Operation{
		OperationID: "change-license", Method: http.MethodPatch, Path: "/v1/licenses/{name}", Summary: "Change some fields of a license: a JSON merge patch, in which null takes a field away", Tags: tags,
	}, func(ctx context.Context, in *struct {
		RecordName
		DryRunning
		Body map[string]any `contentType:"application/merge-patch+json"`
	}) (*licenseOutput, error) {
		return s.editLicense(ctx, in.DryRun, http.StatusOK, engine.Edit{What: engine.RecordLicense, Name: in.Name, Must: engine.MustExist, License: func(l *core.License) error {
			return changed(licenseSpec(*l), in.Body, func(n api.LicenseSpec) error { return deciding(n)(l) })
		}})
	})
	huma.Register(s.api, huma.Operation{
		OperationID: "delete-license", Method: http.MethodDelete, Path: "/v1/licenses/{name}", Summary: "Forget a license that no workload asks for any more", Tags: tags, DefaultStatus: http.StatusNoContent,
	}, func(ctx context.Context, in *RecordName) (*struct{}, error) {
		_, err := s.control.Do(ctx, engine.Organise([]engine.Edit{{What: engine.RecordLicense, Name: in.Name, Drop: true}}, false))
		return nil, s.refusal(err)
	})
}

func (s *Server) licenses(ctx context.Context) ([]api.License, error) {
	v, err := s.control.Do(ctx, engine.Licenses())
	if err != nil {
		return nil, err
	}
	out := []api.License{}
	for _, l := range v.([]engine.LicenseState) {
		out = append(out, license(l))
	}
	return out, nil
}

func (s *Server) oneLicense(ctx context.Context, name string, status int) (*licenseOutput, error) {
	all, err := s.licenses(ctx)
	if err != nil {
		return nil, problem(s.log, err)
	}
	l, err := named("license", name, all, func(l api.License) string { return l.Name })
	return &licenseOutput{Status: status, Body: l}, err
}

func (s *Server) editLicense(ctx context.Context, dry bool, status int, e engine.Edit) (*licenseOutput, error) {
	v, err := s.control.Do(ctx, engine.Organise([]engine.Edit{e}, dry))
	if err != nil {
		return nil, problem(s.log, err)
	}
	done := v.([]engine.Edited)[0]
	out := &licenseOutput{Status: status, Body: license(engine.LicenseState{License: *done.After.(*core.License)})}
	if !dry {
		if out, err = s.oneLicense(ctx, e.Name, status); err != nil {
			return nil, err
		}
	}
	out.Body.Warnings = done.Warnings
	return out, nil
}

func license(l engine.LicenseState) api.License {
	out := api.License{Name: l.Name, CreatedAt: at(l.CreatedAt), LicenseSpec: licenseSpec(l.License), Used: l.Used, Waiting: l.Waiting, Holders: []api.Licensee{}}
	for _, h := range l.Holders {
		out.Holders = append(out.Holders, api.Licensee{ID: string(h.Workload.ID), Name: h.Workload.Name, Project: string(h.Workload.Project), User: h.Workload.User, Count: h.Count})
	}
	return out
}

func licenseSpec(l core.License) api.LicenseSpec {
	return api.LicenseSpec{Total: l.Total, Note: l.Note}
}

// deciding puts what was decided into a record, in place of all that was.
func deciding(in api.LicenseSpec) func(*core.License) error {
	return func(l *core.License) error {
		l.Total, l.Note = in.Total, in.Note
		return nil
	}
}
