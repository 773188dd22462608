from tests.pipeline.steps.annotations.annotated_project import processed_project, project

__all__ = ["processed_project", "project"]
