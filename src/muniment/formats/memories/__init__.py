"""Memory and skills that are kept in files: notes, folders of them, exports of mem0, and skills that a host mounts."""
