/*
 * Made from /openapi.json by openapi-typescript: npx vitest run test/client/generated.test.ts -u
 * SHA-256: 0144e75d3a42bfc52a1c0e1968ec74440846f2aa237e2ebaa3b6a1850f379bc8
 */
export interface paths {
    readonly "/overview": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * The projects that the token may know of, each with how well it is backed up
         * @description Schedules, archives and runs are those that the token may see: without `content.export`, a project has none. An archive is there as long as it can be downloaded, and `lastProven` is the newest that was restored and found to be identical. Needs a token.
         */
        readonly get: operations["showOverview"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/projects": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * The projects that the token may know of, by slug
         * @description Needs a token.
         */
        readonly get: operations["listProjects"];
        readonly put?: never;
        /**
         * Creates a project with its stages and the default roles; for the root token
         * @description With `attach`, the project's stages are schemas of a database that is not Wharf's. The address is tried at once, and nothing is changed there. Its host has to be in WHARF_TRANSFER_HOSTS. Needs the root token.
         */
        readonly post: operations["createProject"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/projects/{slug}": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * One project
         * @description Needs a token with a role in the project.
         */
        readonly get: operations["showProject"];
        readonly put?: never;
        readonly post?: never;
        /**
         * Deletes a project with all its stages, rows and roles; for the root token
         * @description Needs the root token.
         */
        readonly delete: operations["deleteProject"];
        readonly options?: never;
        readonly head?: never;
        /**
         * Says what is kept of the event logs of a project; for the root token
         * @description Older events are removed in the minutes after, and then again and again, the oldest first. The latest event of each stage always stays. What is left out stays as it is. Needs the root token.
         */
        readonly patch: operations["changeProject"];
        readonly trace?: never;
    };
    readonly "/projects/{slug}/stages": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * The project's stages, in the order in which they were made
         * @description Needs a token with a role in the project.
         */
        readonly get: operations["listStages"];
        readonly put?: never;
        /**
         * Adds a stage: an empty one, or a schema of an attached project; for the root token
         * @description Needs the root token.
         */
        readonly post: operations["createStage"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/projects/{slug}/stages/{stage}": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        readonly post?: never;
        /**
         * Deletes a stage with all its rows, or detaches one of an attached project; for the root token
         * @description The rows of an attached stage stay in its schema; its event log, and what imports have left, are removed unless `force`. Needs the root token.
         */
        readonly delete: operations["deleteStage"];
        readonly options?: never;
        readonly head?: never;
        /**
         * Has the event log of an attached stage kept, or no longer; for the root token
         * @description The log is kept in the database of the stage, in the schema `wharf_log`, by triggers on its tables, for which the login has to be their owner. With the log, its rows can be read at `/content`. Where it is no longer kept, all of it is removed. Needs the root token.
         */
        readonly patch: operations["changeStage"];
        readonly trace?: never;
    };
    readonly "/projects/{slug}/attachment": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * The database of an attached project, and what its login may do there now
         * @description Needs `content.export` in the project.
         */
        readonly get: operations["showAttachment"];
        /**
         * Gives an attached project another address; for the root token
         * @description The address is tried at once, and has to have the schemas of all stages. Connections to the old one are given up when their users have given them back. Needs the root token.
         */
        readonly put: operations["changeAttachment"];
        readonly post?: never;
        /**
         * Detaches a project: forgets it with its roles, and leaves its database alone; for the root token
         * @description What imports have left beside its stages is dropped, as far as the login can: what they replaced, which an undo could have brought back, and the record of what they committed. Needs the root token.
         */
        readonly delete: operations["detachProject"];
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/attached-servers": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * The servers each of whose databases is attached, by name; for the root token
         * @description Needs the root token.
         */
        readonly get: operations["listAttachedServers"];
        readonly put?: never;
        /**
         * Attaches each database of a server as a project; for the root token
         * @description Databases that take connections, are no templates and are not excluded become projects; schemas that hold something, their stages. A project has the name of its database, or what a slug can have of it. What cannot be attached is refused with the reason, and keeps nothing else from being attached. Nothing is changed there. Each run of a schedule of the root token whose pattern could match looks again. The host has to be in WHARF_TRANSFER_HOSTS. A server that is attached with the same address is looked at again. Needs the root token.
         */
        readonly post: operations["attachServer"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/attached-servers/{name}": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * One attached server, with its projects; for the root token
         * @description Needs the root token.
         */
        readonly get: operations["showAttachedServer"];
        /**
         * Gives a server, and so all its projects, another address; for the root token
         * @description What is excluded is what this address says. The server is looked at again, also for what was detached. Needs the root token.
         */
        readonly put: operations["changeAttachedServer"];
        readonly post?: never;
        /**
         * Forgets a server with all the projects that its databases are; for the root token
         * @description The databases are left alone, as when each project is detached. Needs the root token.
         */
        readonly delete: operations["detachServer"];
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/attached-servers/{name}/look": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /**
         * Looks at a server again, and attaches what is new; for the root token
         * @description Needs the root token.
         */
        readonly post: operations["lookAtServer"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/status": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * How the installation does: processes, queue, jobs, archives, and what somebody should look at; for the root token
         * @description Needs the root token.
         */
        readonly get: operations["showStatus"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/doctor": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * Looks at all that the service needs, and changes nothing; for the root token
         * @description What `wharf doctor` says, as the process sees it that answers. Each check takes 30 seconds at most; those who ask at the same time share one look. Needs the root token.
         */
        readonly get: operations["runDoctor"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/queue": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * What is in the queue, and which jobs wait; for the root token
         * @description The queue carries ids to workers, and what it forgets is put there again: what a job is and how it does, its record says. Needs the root token.
         */
        readonly get: operations["showQueue"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/projects/{slug}/stages/{stage}/events": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * The event log of a stage, the newest first
         * @description Of a stage in the database that projects share; the logs of others are in their archives. Needs `system.export` in the project.
         */
        readonly get: operations["listEvents"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/projects/{slug}/roles": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * The project's roles, by name
         * @description Needs a token with a role in the project.
         */
        readonly get: operations["listRoles"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/projects/{slug}/roles/{role}": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        /**
         * Creates a role, or replaces what it allows; for the root token
         * @description A permission that is left out is not given. The change applies to tokens with the role at once. Needs the root token.
         */
        readonly put: operations["setRole"];
        readonly post?: never;
        /**
         * Deletes a role that no usable token has; for the root token
         * @description Needs the root token.
         */
        readonly delete: operations["deleteRole"];
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/projects/{slug}/stages/{stage}/schema": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /**
         * Runs SQL that changes a stage's structure, or a dump, whole or not at all
         * @description The script runs as the project's own database login, in one transaction of its own, when all of it has arrived: names without a schema are in the stage, and BEGIN, COMMIT and ROLLBACK are refused. Where another transaction holds a table, the script is undone and run again, for WHARF_SCHEMA_LOCK_SECONDS (60); then the answer is `409` and names who holds it. A plain dump of pg_dump is taken as it is, with the rows of its COPY blocks: its schema `public` means the stage, and what it says about owners, rights of others and the session is passed over and counted. Needs `content.structure` in the project.
         */
        readonly post: operations["applySchema"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/tokens": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * Tokens in the order in which they were made, revoked ones too; for the root token
         * @description Needs the root token.
         */
        readonly get: operations["listTokens"];
        readonly put?: never;
        /**
         * Creates a token with a role in one or more projects; for the root token
         * @description The answer is the only place where the token is ever shown. Needs the root token.
         */
        readonly post: operations["createToken"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/tokens/{id}": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * One token; for the root token
         * @description Needs the root token.
         */
        readonly get: operations["showToken"];
        readonly put?: never;
        readonly post?: never;
        /**
         * Revokes a token for good, from the next request on; for the root token
         * @description Needs the root token.
         */
        readonly delete: operations["revokeToken"];
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/me": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * Who the token is, and what it may do
         * @description Needs a token.
         */
        readonly get: operations["whoAmI"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/session": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /**
         * Keeps a browser signed in: the token as a cookie that no script can read
         * @description The cookie `wharf-session` holds the token, encrypted, and ends with it. A request that has the cookie, no `Authorization`, and the header `Wharf-Session` has the rights of the token. Without that header the cookie counts for nothing: no page of another origin can send it. Needs a token.
         */
        readonly post: operations["beginSession"];
        /**
         * Takes the cookie away that keeps a browser signed in
         * @description Needs no token.
         */
        readonly delete: operations["endSession"];
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/export": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /**
         * Exports projects to one archive
         * @description Streams the archive (JSON Lines). `Content-Encoding: gzip` on the request, whose body is plain JSON nevertheless, or `Accept-Encoding: gzip`, asks for a compressed one; `zstd` in its place for one that is compressed with that, where the server’s Node.js has it. An export that fails after its first byte ends the connection abnormally, and its archive lacks the `end` line. Needs `content.export` in every project, and `system.export` where the system section is asked for. Where rows would be missing that no archive can hold, it is refused (`INCOMPLETE`) before the first byte, unless `allowIncomplete` is true. With `Prefer: respond-async` it is a job, and its archive, always compressed, is at `/jobs/{id}/file`. Needs `content.export` in the projects of this server that the request names, and `system.export` where it asks for the system section.
         */
        readonly post: operations["exportProjects"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/export/dry-run": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /**
         * Says what an archive of projects would lack
         * @description Looks at the projects as an export does, and reads no rows. Needs what the export needs. Needs `content.export` in the projects of this server that the request names, and `system.export` where it asks for the system section.
         */
        readonly post: operations["examineExport"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/import": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /**
         * Imports an archive over the existing data: restores it
         * @description All projects and stages of the archive together, or nothing. The archive is received and checked as a whole before anything is changed; readers of the stages see the old rows until all new ones are there. Needs `content.import` in every target, `content.structure` where a stage is empty, so that it would be built from the archive, and `system.import` where the archive has the system section. With `Prefer: respond-async` the archive is received and checked in the same way, and then imported by a job. Needs `content.import` in the projects of this server that the request names, and `system.import` where it asks for the system section.
         */
        readonly post: operations["importArchive"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/projects/{slug}/stages/{stage}/undo": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * Says what an undo would bring back, and until when
         * @description Needs `content.import`. Needs `content.import` in the project.
         */
        readonly get: operations["showUndo"];
        readonly put?: never;
        /**
         * Puts back what the last import or transfer replaced
         * @description Needs `content.import`. The current contents are kept in turn, so an undo can be undone. Needs `content.import` in the project.
         */
        readonly post: operations["undoImport"];
        /**
         * Drops what the last import or transfer replaced, so that no undo can put it back
         * @description Needs `content.import`. What is kept in an attached database shares types with the stage, so that they can be neither dropped nor changed for the stage alone. Where nothing is kept, nothing happens. Needs `content.import` in the project.
         */
        readonly delete: operations["discardReplaced"];
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/uploads": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /**
         * Begins an upload that survives lost connections
         * @description For an archive that arrives in as many requests as it takes: send its bytes with `PATCH`, ask after a lost connection how many are there, and go on from there. It is kept for 24 hours after it was last sent to or used. By the tus protocol 1.0.0 (creation, expiration, termination), so its clients can be used. Needs `content.import` in a project, whichever.
         */
        readonly post: operations["createUpload"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/uploads/{id}": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * How many bytes of an upload are there
         * @description Ends what a lost connection has left, so that all that has come is counted. Needs the token that began the upload, or the root token; for all others there is none.
         */
        readonly get: operations["showUpload"];
        readonly put?: never;
        readonly post?: never;
        /**
         * Removes an upload
         * @description Needs the token that began the upload, or the root token; for all others there is none.
         */
        readonly delete: operations["deleteUpload"];
        readonly options?: never;
        readonly head?: never;
        /**
         * Sends the next bytes of an upload
         * @description What has come is kept, also where the connection is lost in the middle. Needs the token that began the upload, or the root token; for all others there is none.
         */
        readonly patch: operations["sendUpload"];
        readonly trace?: never;
    };
    readonly "/uploads/{id}/import": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /**
         * Imports an archive that has been uploaded
         * @description As `POST /import`, with an upload that is whole instead of a body, and with the same permissions. After a dry run it can be imported without being sent again; an import that succeeds, and a job, take it, but for those of one `project`. Needs the token that began the upload, or the root token; for all others there is none.
         */
        readonly post: operations["importUpload"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/content/{project}/{stage}": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * The stage at a glance: tables, columns, relations, row counts
         * @description Needs `content.read` in the project; requests without a token have the role `public`, where there is one.
         */
        readonly get: operations["getStage"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/content/{project}/{stage}/{table}": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * A table's rows
         * @description Filters, selection, embedding, order and paging are in PostgREST's query dialect (docs/content.md). Needs `content.read` in the project; requests without a token have the role `public`, where there is one.
         */
        readonly get: operations["getRows"];
        /**
         * Puts one row in the place of the one that has its primary key, which filters name
         * @description Needs `content.write` in the project; requests without a token have the role `public`, where there is one.
         */
        readonly put: operations["putRow"];
        /**
         * Inserts rows; `Prefer: resolution=…` says what becomes of those whose key exists
         * @description Needs `content.write` in the project; requests without a token have the role `public`, where there is one.
         */
        readonly post: operations["insertRows"];
        /**
         * Deletes the rows that a filter names
         * @description Needs `content.write` in the project; requests without a token have the role `public`, where there is one.
         */
        readonly delete: operations["deleteRows"];
        readonly options?: never;
        readonly head?: never;
        /**
         * Changes the rows that a filter names
         * @description Needs `content.write` in the project; requests without a token have the role `public`, where there is one.
         */
        readonly patch: operations["updateRows"];
        readonly trace?: never;
    };
    readonly "/content/{project}/{stage}/rpc/{function}": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * Calls a function to read, with arguments from the query; one that writes is refused
         * @description A parameter whose value is no filter is the argument of its name. What the function returns is filtered, selected, embedded and ordered like the rows of a table (docs/content.md). Needs `content.read` in the project; requests without a token have the role `public`, where there is one.
         */
        readonly get: operations["readFunction"];
        readonly put?: never;
        /**
         * Calls a function; where it is VOLATILE it may write, and needs `content.write` too
         * @description The body has the arguments by name, or is the only argument of a function that takes one without a name: of type `json`, `jsonb`, `text`, `xml` or `bytea`. Needs `content.read` in the project; requests without a token have the role `public`, where there is one.
         */
        readonly post: operations["callFunction"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/transfer": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /**
         * Copies a project over another one, on this server or between this one and another
         * @description Always a job. The target is overwritten as by an import: all of it together, or nothing. At least one end is on this server. The operator decides which other servers may be reached (`WHARF_TRANSFER_HOSTS`). Needs `content.export` in a source and `content.import` in a target that are here, `content.structure` in a target with an empty stage, which is built, and the same in `system` where the system section is asked for. Needs `content.export` and `content.import` in the projects of this server that the request names, and `system.export` and `system.import` where it asks for the system section.
         */
        readonly post: operations["transferProject"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/schedules": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * Schedules, in the order in which they were made
         * @description The root token sees all; any other token sees those whose jobs it could ask for itself. Needs a token.
         */
        readonly get: operations["listSchedules"];
        readonly put?: never;
        /**
         * Creates a schedule: an export or a transfer that is repeated
         * @description Needs what the job itself needs. Its jobs run in the name of this token, and fail once it is not allowed to start them any more. Times that are missed while no process runs are made up for by one run; a time at which the previous run has not ended is skipped. Needs `content.export` and `content.import` in the projects of this server that the request names, and `system.export` and `system.import` where it asks for the system section.
         */
        readonly post: operations["createSchedule"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/schedules/preview": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /**
         * Says when a schedule would be due; makes none
         * @description Needs a token.
         */
        readonly post: operations["previewSchedule"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/schedules/{id}/keep-preview": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /**
         * Says which archives rules would let go of; changes nothing
         * @description As if the rules counted now. With them, the archives go once a newer run has succeeded. Needs a token that may ask for the same schedule now.
         */
        readonly post: operations["previewKeep"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/schedules/{id}": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * One schedule, with its newest runs
         * @description Needs a token that may ask for the same schedule now.
         */
        readonly get: operations["showSchedule"];
        readonly put?: never;
        readonly post?: never;
        /**
         * Deletes a schedule; its archives stay for as long as those of any other job
         * @description Needs the token in whose name the schedule runs, or the root token; all others are answered 403, or 404 where they may not see it.
         */
        readonly delete: operations["deleteSchedule"];
        readonly options?: never;
        readonly head?: never;
        /**
         * Changes the given fields of a schedule; `enabled` pauses and resumes it
         * @description Runs that were missed while a schedule was paused are not made up for. With another `request`, it runs in the name of the token that changed it from then on: the root token too. Needs the token in whose name the schedule runs, or the root token; all others are answered 403, or 404 where they may not see it.
         */
        readonly patch: operations["changeSchedule"];
        readonly trace?: never;
    };
    readonly "/schedules/{id}/run": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /**
         * Runs a schedule now, enabled or not
         * @description Needs the token in whose name the schedule runs, or the root token; all others are answered 403, or 404 where they may not see it.
         */
        readonly post: operations["runSchedule"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/webhooks": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * Webhooks, in the order in which they were made; for the root token
         * @description Needs the root token.
         */
        readonly get: operations["listWebhooks"];
        readonly put?: never;
        /**
         * Has notifications sent to a URL; for the root token
         * @description Requests are those of the Standard Webhooks specification, unless `kind` says otherwise. The answer is the only place where the secret is shown that they are signed with. Which hosts can be reached is up to WHARF_WEBHOOK_HOSTS. Needs the root token.
         */
        readonly post: operations["createWebhook"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/webhooks/{id}": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * One webhook; for the root token
         * @description Needs the root token.
         */
        readonly get: operations["showWebhook"];
        readonly put?: never;
        readonly post?: never;
        /**
         * Deletes a webhook, with the log of what it was sent; for the root token
         * @description Needs the root token.
         */
        readonly delete: operations["deleteWebhook"];
        readonly options?: never;
        readonly head?: never;
        /**
         * Changes a webhook; for the root token
         * @description What is missing stays as it is. What waits for a webhook that is disabled is not sent any more. Needs the root token.
         */
        readonly patch: operations["changeWebhook"];
        readonly trace?: never;
    };
    readonly "/webhooks/{id}/rotate": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /**
         * Gives a webhook a new secret; for the root token
         * @description For a day, each request is signed with both: with the new one, and with the one until now. Needs the root token.
         */
        readonly post: operations["rotateWebhookSecret"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/webhooks/{id}/test": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /**
         * Has a notification sent that says only that the webhook works; for the root token
         * @description Needs the root token.
         */
        readonly post: operations["testWebhook"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/webhooks/{id}/deliveries": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * What was sent to a webhook in the last 30 days, or is to be, the newest first; for the root token
         * @description Needs the root token.
         */
        readonly get: operations["listDeliveries"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/webhooks/{id}/deliveries/{delivery}": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * What became of one notification; for the root token
         * @description Needs the root token.
         */
        readonly get: operations["showDelivery"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/webhooks/{id}/deliveries/{delivery}/resend": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /**
         * Has a notification sent again, with the id that it has; for the root token
         * @description Needs the root token.
         */
        readonly post: operations["resendDelivery"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/jobs": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * Jobs, the newest first
         * @description The root token sees all; any other token sees its own, and those that it could have asked for itself. Needs a token.
         */
        readonly get: operations["listJobs"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/jobs/{id}": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * One job: its progress, and its result
         * @description `Prefer: wait=N` delays the answer for up to N seconds, 60 at most, until something has changed. A failed job is answered with 200, too: its `status` says that it failed. Needs the token that made the job, or one that may ask for the same.
         */
        readonly get: operations["showJob"];
        readonly put?: never;
        readonly post?: never;
        /**
         * Removes a job that has ended, and the archive that it made
         * @description Needs the token in whose name the job runs, or the root token; all others are answered 403, or 404 where they may not see it.
         */
        readonly delete: operations["deleteJob"];
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/jobs/events": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * A page of jobs at once, and again on every change, without an end
         * @description Server-sent events, for the same query as `GET /jobs`. The `event` is `jobs`; its `data`, in one line, has the `ids` of all jobs of the page in their order, in `items` those of them that are new on it or have changed, and `next`. Where the token is revoked or expires, the last `event` is `error`, and its `data` the problem document. They end without one after ten minutes, and where the service stops: ask again. Needs a token.
         */
        readonly get: operations["watchJobs"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/jobs/{id}/events": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * The job at once, and again on every change, until it has ended
         * @description Server-sent events. Each `data` is the job as `GET /jobs/{id}` has it, in one line; the `event` is `job`. Where the token is revoked or expires meanwhile, the last `event` is `error`, and its `data` the problem document. After ten minutes, and where the service stops, they end before the job does: ask again. Needs the token that made the job, or one that may ask for the same.
         */
        readonly get: operations["watchJob"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/jobs/{id}/cancel": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /**
         * Cancels a job, queued or running; what it had begun is undone
         * @description A queued job has ended at once. A running one ends soon after: its `status` is then `cancelled`. Needs the token in whose name the job runs, or the root token; all others are answered 403, or 404 where they may not see it.
         */
        readonly post: operations["cancelJob"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/jobs/{id}/file": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * Downloads the archive that an export has made
         * @description A download that broke off goes on where it stopped: `Range: bytes=<bytes received>-`, with the `ETag` as `If-Range` (`curl -C -` does so). One range at a time. Needs, at this moment, what the export needed: `content.export` in every project, and `system.export` where the system section is in the archive. An archive whose bytes in the storage have changed is a 410, or, where that is seen only while it is being sent, ends the connection before its last byte. Where the operator has clients read the storage itself, the answer is a redirect to it: follow it with the same `Range`, and without the token; `Prefer: no-redirect` has the bytes come from this server. Needs a token that may ask for the same job now.
         */
        readonly get: operations["downloadJobFile"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/jobs/{id}/import": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /**
         * Imports the archive that an export has made
         * @description As `POST /import`, with the archive that this server keeps instead of a body. Needs what downloading it needs, and what importing it needs. The archive stays. Needs a token that may ask for the same job now.
         */
        readonly post: operations["importJobFile"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/healthz": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * Whether the process is alive
         * @description Needs no token.
         */
        readonly get: operations["getHealth"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/readyz": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * Whether the service can do its work now: what every request depends on answers, and takes writes
         * @description Needs no token.
         */
        readonly get: operations["getReadiness"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/metrics": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * Figures for Prometheus: jobs, the queue, requests and the process
         * @description Needs no token.
         */
        readonly get: operations["getMetrics"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/openapi.json": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * This description, as an OpenAPI 3.1 document
         * @description Needs no token.
         */
        readonly get: operations["getOpenApi"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/docs": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * This description and the guides, for reading
         * @description Needs no token.
         */
        readonly get: operations["getDocs"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        /**
         * @description The name of a project or of a stage.
         * @example demo
         */
        readonly Slug: string;
        /** @description Which archives are kept: those that either rule keeps; without a rule, all. The newest that succeeded and the newest that is proven are always kept. */
        readonly Keep: {
            /** @description How many archives; where some are proven, only those count. */
            readonly last?: number;
            /** @description For how many days. */
            readonly days?: number;
        };
        /** @description What webhooks are told of, beside the ends of runs; only for exports. */
        readonly Alarms: {
            /** @description How old the last archive may become, in hours: the last that is proven, with `verify`. `archive.overdue` tells of an older one. */
            readonly maxAgeHours?: number;
            /** @description By how many percent an archive may be smaller than the one before it. `archive.shrunk` tells of one that shrank by as many, or more. */
            readonly shrinkPercent?: number;
        };
        /** @description A project, and how well it is backed up. */
        readonly ProjectOverview: {
            readonly slug: components["schemas"]["Slug"];
            readonly attached: boolean;
            readonly stages: readonly {
                readonly slug: components["schemas"]["Slug"];
                /** @description Of its tables with their indexes; null in databases of their own, and while tables are locked. */
                readonly sizeBytes: number | null;
                /** @description When its rows or its structure last changed, by its event log. */
                readonly changedAt: string | null;
            }[];
            /** @description Those that export it, by name or by a pattern, as far as the token may see them. */
            readonly schedules: readonly {
                /** Format: uuid */
                readonly id: string;
                readonly name: string;
                readonly enabled: boolean;
                readonly nextRunAt: string | null;
            }[];
            /** @description The newest that is there, of a schedule or not. */
            readonly lastArchive: {
                /** Format: uuid */
                readonly jobId: string;
                /** Format: date-time */
                readonly finishedAt: string;
                /** @description When it was restored and found to be identical. */
                readonly provenAt: string | null;
            } | null;
            readonly lastProven: {
                /** Format: uuid */
                readonly jobId: string;
                /** Format: date-time */
                readonly finishedAt: string;
                /** @description When it was restored and found to be identical. */
                readonly provenAt: string | null;
            } | null;
            /** @description Since when the last archive of a schedule is older than its `alarms` allow. */
            readonly overdueSince: string | null;
            /** @description The last 30, the oldest first. */
            readonly nights: readonly {
                /**
                 * Format: date
                 * @description By the clocks of the schedule.
                 */
                readonly date: string;
                /** @enum {string} */
                readonly outcome: "proven" | "made" | "running" | "failed" | "cancelled" | "skipped" | "none";
                /** @description Of the run; null where there was none. */
                readonly dueAt: string | null;
                /** @description Its job, where it is still there. */
                readonly jobId: string | null;
                /** @description Whether its archive is still there, and whole. */
                readonly hasArchive: boolean;
            }[];
        };
        readonly Project: {
            readonly slug: components["schemas"]["Slug"];
            /** Format: date-time */
            readonly createdAt: string;
            /** @description Whether its stages are in a database that is not Wharf's. */
            readonly attached: boolean;
            /** @description Whether its stages are in a database that Wharf made for it alone. */
            readonly ownDatabase: boolean;
            readonly eventLog: {
                /** @description For how many days events are kept; 0 for ever, null as WHARF_EVENT_LOG_DAYS has it. */
                readonly keepDays: number | null;
                /** @description How many events the log of each stage keeps; 0 any number, null as WHARF_EVENT_LOG_EVENTS has it. */
                readonly keepEvents: number | null;
            };
            readonly stages: readonly components["schemas"]["Stage"][];
        };
        readonly Stage: {
            readonly slug: components["schemas"]["Slug"];
            /** Format: date-time */
            readonly createdAt: string;
            /** @description Of an attached stage, the PostgreSQL schema that it is; else null. */
            readonly schema: string | null;
            /** @description Whether an event log is kept of it: of an attached stage, only where that was asked for. */
            readonly logEvents: boolean;
        };
        readonly Attachment: {
            /** @description The address without its password and parameters. */
            readonly name: string;
            readonly login: string;
            /** @description The attached server whose database it is; null for one attached by itself. */
            readonly server: components["schemas"]["Slug"] | null;
            /**
             * Format: date-time
             * @description When the address was given.
             */
            readonly changedAt: string;
            /** @description PostgreSQL's. */
            readonly version: string;
            /** @description Whether the login may do everything on that server. */
            readonly isSuperuser: boolean;
            readonly stages: readonly {
                readonly slug: components["schemas"]["Slug"];
                readonly schema: string;
                readonly mayExport: boolean;
                /**
                 * @description How an import would replace the stage, by what is in it and what the login may do: `beside` it and in one swap, `object by object` in one transaction, `in place`, or not at all.
                 * @enum {string}
                 */
                readonly mayImport: "beside" | "object by object" | "in place" | "no";
                /** @description Why not more. */
                readonly reasons: readonly string[];
                /** @description The SQL that would allow more. */
                readonly missing: readonly string[];
                /** @description Whether its event log is kept there. */
                readonly logEvents: boolean;
                /** @description Why changes can go unseen by the log; no answer counts as known then. */
                readonly logProblems: readonly string[];
            }[];
        };
        readonly AttachedServer: {
            /** @description What the server is called here. */
            readonly name: components["schemas"]["Slug"];
            /** @description The address without its password and parameters. */
            readonly address: string;
            readonly login: string;
            /** @description What the slugs of its projects begin with. */
            readonly prefix: string;
            /** @description Patterns of the databases that are left out. */
            readonly exclude: readonly string[];
            /** Format: date-time */
            readonly createdAt: string;
            /**
             * Format: date-time
             * @description When the address was given.
             */
            readonly changedAt: string;
            /** @description The projects that its databases are. */
            readonly projects: readonly {
                readonly database: string;
                readonly project: components["schemas"]["Slug"];
            }[];
        };
        readonly LookedAtServer: {
            /** @description What the server is called here. */
            readonly name: components["schemas"]["Slug"];
            /** @description The address without its password and parameters. */
            readonly address: string;
            readonly login: string;
            /** @description What the slugs of its projects begin with. */
            readonly prefix: string;
            /** @description Patterns of the databases that are left out. */
            readonly exclude: readonly string[];
            /** Format: date-time */
            readonly createdAt: string;
            /**
             * Format: date-time
             * @description When the address was given.
             */
            readonly changedAt: string;
            readonly databases: readonly {
                readonly database: string;
                /** @description The project that it is; null where it is none. */
                readonly project: components["schemas"]["Slug"] | null;
                /**
                 * @description `attached`: now; `already attached`: earlier, by this server or by itself; `gone`: the server does not have it any more, and its project is still there.
                 * @enum {string}
                 */
                readonly outcome: "attached" | "already attached" | "excluded" | "refused" | "gone";
                /** @description The stages that were made of its schemas now. */
                readonly stages: readonly {
                    readonly slug: components["schemas"]["Slug"];
                    /** @description The PostgreSQL schema that is the stage. */
                    readonly schema: string;
                    /** @description Whether an event log of the stage is kept in its database, by triggers on its tables, so that its rows can be read at `/content`. */
                    readonly logEvents?: boolean;
                }[];
                /** @description Why it was refused. */
                readonly reason: string | null;
            }[];
        };
        /** @description How an installation does. */
        readonly Status: {
            readonly version: string;
            readonly database: {
                readonly version: string;
                readonly name: string;
                readonly bytes: number;
                readonly projects: number;
            };
            /** @description Those that have been heard of in the last minute. */
            readonly processes: readonly {
                readonly parts: readonly string[];
                readonly host: string;
                readonly pid: number;
                readonly version: string;
                /** Format: date-time */
                readonly startedAt: string;
            }[];
            readonly queue: {
                /** @enum {string} */
                readonly kind: "redis" | "postgresql";
                /** @description Why it cannot be used; null where it can. */
                readonly fault: string | null;
            };
            readonly jobs: {
                readonly waiting: number;
                readonly oldestWaitingSeconds: number;
                readonly running: number;
                /** @description In the last 24 hours. */
                readonly failed: number;
            };
            readonly schedules: readonly {
                /** Format: uuid */
                readonly id: string;
                readonly name: string;
                readonly enabled: boolean;
                readonly nextRunAt: string | null;
                /** @description How the last run ended, or goes on; null before the first. */
                readonly last: string | null;
                readonly lastSuccessAt: string | null;
                /** @description When an archive was last restored, and was the same. */
                readonly lastProvenAt: string | null;
            }[];
            readonly storage: {
                readonly location: string;
                readonly archives: number;
                readonly bytes: number;
                readonly damaged: number;
            };
            /** @description Of Wharf itself. */
            readonly backup: {
                readonly enabled: boolean;
                readonly lastAt: string | null;
            };
            /** @description What somebody should look at, in sentences. */
            readonly problems: readonly string[];
        };
        /** @description All that a service needs, checked. */
        readonly Doctor: {
            /** @description Whether nothing is wrong, warnings aside. */
            readonly ok: boolean;
            readonly checks: readonly {
                /** @description What was looked at. */
                readonly name: string;
                /** @enum {string} */
                readonly status: "ok" | "warning" | "fault" | "skipped";
                /** @description What there is; where something is wrong, what it is and what to do. */
                readonly detail: string;
            }[];
        };
        /** @description What is in the queue, and which jobs wait. */
        readonly Queue: {
            readonly kinds: readonly {
                /** @enum {string} */
                readonly kind: "export" | "import" | "transfer";
                readonly active: number;
                readonly waiting: number;
                readonly failed: number;
                /** @description To be tried again later. */
                readonly delayed: number;
                /** @description Since when the job waits that was asked for first; 0 where none does. */
                readonly oldestWaitingSeconds: number;
                /** @description Running jobs whose worker has not been heard of for as long as a worker may be silent. */
                readonly stalled: number;
            }[];
            /** @description The 20 oldest of each kind and state. */
            readonly entries: readonly {
                /** Format: uuid */
                readonly jobId: string;
                /** @enum {string} */
                readonly kind: "export" | "import" | "transfer";
                /** @enum {string} */
                readonly state: "active" | "waiting" | "delayed" | "failed";
                /** Format: date-time */
                readonly addedAt: string;
            }[];
        };
        /** @description One entry of the event log of a stage. */
        readonly Event: {
            /** Format: uuid */
            readonly id: string;
            /** @enum {string} */
            readonly kind: "create" | "update" | "delete" | "truncate" | "import" | "structure";
            readonly table: string | null;
            /** @description How many rows it has; a statement of very many is several events. */
            readonly rowCount: number;
            /** @description The first 20 of them, each as JSON, with all digits: what the rows were after the event, of `delete` before it. What has more than 10,000 characters is cut off, and ends in `…`. */
            readonly rows: readonly string[];
            /** @description The token of this server with which it was done; null for another, and for SQL. */
            readonly tokenId: string | null;
            /** Format: date-time */
            readonly occurredAt: string;
            /** @description When it came with an archive; null for one that happened here. */
            readonly importedAt: string | null;
            /** @description For `after`. */
            readonly cursor: string;
        };
        /** @description What a token with this role may do in the project. */
        readonly Role: {
            readonly name: string;
            readonly content: {
                readonly read: boolean;
                readonly write: boolean;
                readonly export: boolean;
                readonly import: boolean;
                /** @description Whether it may run SQL of its own as the project's login: scripts, and archives that build a stage. */
                readonly structure: boolean;
            };
            readonly system: {
                readonly export: boolean;
                readonly import: boolean;
            };
        };
        /** @description A token, without its secret. */
        readonly Token: {
            /** Format: uuid */
            readonly id: string;
            readonly name: string;
            readonly memberships: readonly {
                readonly project: components["schemas"]["Slug"];
                readonly role: string;
            }[];
            /** Format: date-time */
            readonly createdAt: string;
            readonly expiresAt: string | null;
            readonly revokedAt: string | null;
        };
        /** @description A token with its secret, which is shown once, when it is created. */
        readonly NewToken: {
            /** Format: uuid */
            readonly id: string;
            readonly name: string;
            readonly memberships: readonly {
                readonly project: components["schemas"]["Slug"];
                readonly role: string;
            }[];
            /** Format: date-time */
            readonly createdAt: string;
            readonly expiresAt: string | null;
            readonly revokedAt: string | null;
            readonly token: string;
        };
        readonly Me: {
            /** @description Whether it is the root token, which may do everything. */
            readonly root: boolean;
            readonly id: string | null;
            readonly name: string | null;
            readonly memberships: readonly {
                readonly project: components["schemas"]["Slug"];
                readonly role: components["schemas"]["Role"];
            }[];
        };
        readonly Job: {
            /** Format: uuid */
            readonly id: string;
            /** @enum {string} */
            readonly kind: "export" | "import" | "transfer";
            /** @enum {string} */
            readonly status: "queued" | "running" | "succeeded" | "failed" | "cancelled";
            /** @description What was asked for; tokens in it are masked. */
            readonly request: unknown;
            readonly progress: {
                /** @enum {string} */
                readonly phase: "checking" | "reading" | "sending" | "loading" | "finishing";
                readonly stage: string | null;
                readonly table: string | null;
                readonly rows: number;
                /** @description An estimate for an export, a count for an import. */
                readonly rowsTotal: number | null;
                /** @description Of the archive, as it is stored or sent. */
                readonly bytes: number;
                /** @description Parts of tables that this attempt at an import has loaded. */
                readonly parts: number;
                /** @description Those that an earlier attempt had loaded, and that are not loaded again. */
                readonly partsBefore: number;
                readonly percent: number | null;
            } | null;
            /** @description Its result; null until it has succeeded. */
            readonly result: unknown;
            /** @description Why it failed; null where it has not. */
            readonly error: {
                /** @description As in `docs/errors.md`. */
                readonly code: string;
                readonly detail: string;
                readonly errors: readonly {
                    /** @description The field of the JSON body at fault, as an RFC 6901 pointer. */
                    readonly pointer?: string;
                    /** @description The line of the file or of the SQL at fault, from 1. */
                    readonly line?: number;
                    readonly detail: string;
                }[];
            } | null;
            /** @description The token that asked for it; null for the root token. */
            readonly createdBy: string | null;
            readonly scheduleId: string | null;
            /** @description How often it was started: more than once where a worker died. */
            readonly attempt: number;
            /** @description The log of its attempts, the oldest first; of more than 20, the newest. */
            readonly attempts: readonly components["schemas"]["JobAttempt"][];
            readonly cancelRequestedAt: string | null;
            /** Format: date-time */
            readonly createdAt: string;
            readonly startedAt: string | null;
            readonly finishedAt: string | null;
            /** @description When the archive that it made is removed. */
            readonly expiresAt: string | null;
            /** @description When the bytes of the archive that it made were last compared with what was written. */
            readonly archiveCheckedAt: string | null;
            /** @description When the archive was found to be damaged: it cannot be downloaded then. Null where it is whole. */
            readonly archiveDamagedAt: string | null;
            /** @description When the archive that it made was restored and found to be identical; null where that was not done, or the archive is damaged. */
            readonly provenAt: string | null;
            readonly links: {
                readonly self: string;
                readonly events: string;
                /** @description While it has not ended. */
                readonly cancel?: string;
                /** @description Where it made an archive. */
                readonly file?: string;
            };
        };
        readonly JobAttempt: {
            readonly number: number;
            /** @description Host and process id of the process that works on it; null but for the root token. */
            readonly worker: string | null;
            /** Format: date-time */
            readonly startedAt: string;
            /** @description null while it is under way. */
            readonly endedAt: string | null;
            /** @description null while it is under way. `stopped` where its process had to end and gave the job back, `lost` where that ended, or stopped answering, without a word. */
            readonly outcome: ("succeeded" | "failed" | "cancelled" | "stopped" | "lost") | null;
            /** @description Why it failed. */
            readonly error: {
                readonly code: string;
                readonly detail: string;
            } | null;
        };
        readonly Upload: {
            /** Format: uuid */
            readonly id: string;
            /** @description How many bytes it has once it is whole. */
            readonly length: number;
            /** @description How many bytes are there. The next ones are sent from here on. */
            readonly offset: number;
            /**
             * Format: date-time
             * @description When it goes, unless more is sent or it is used before.
             */
            readonly expiresAt: string;
        };
        /** @description A stage at a glance. */
        readonly StageOverview: {
            readonly project: string;
            readonly stage: string;
            readonly tables: readonly {
                readonly name: string;
                /** @enum {string} */
                readonly kind: "table" | "view" | "materialized view" | "foreign table";
                readonly comment: string | null;
                readonly columns: readonly {
                    readonly name: string;
                    readonly type: string;
                    readonly nullable: boolean;
                    readonly hasDefault: boolean;
                    readonly generated: boolean;
                    readonly identity: ("always" | "by default") | null;
                    readonly comment: string | null;
                }[];
                readonly primaryKey: readonly string[];
                readonly relations: readonly {
                    /** @description The foreign key's name. */
                    readonly name: string;
                    /**
                     * @description How many rows of the other table one row has.
                     * @enum {string}
                     */
                    readonly kind: "to one" | "to many";
                    readonly columns: readonly string[];
                    readonly table: string;
                    readonly foreignColumns: readonly string[];
                }[];
                readonly rows: {
                    /** @description Null where PostgreSQL has no estimate, as for a view. */
                    readonly count: number | null;
                    /** @description Whether the rows were counted; otherwise this is PostgreSQL's own estimate. */
                    readonly exact: boolean;
                };
                readonly links: {
                    readonly rows: string;
                };
            }[];
            readonly links: {
                readonly self: string;
            };
        };
        readonly Schedule: {
            /** Format: uuid */
            readonly id: string;
            readonly name: string;
            readonly cron: string;
            readonly timezone: string;
            /** @enum {string} */
            readonly kind: "export" | "transfer";
            /** @description What its jobs are asked for with; tokens in it are masked. */
            readonly request: unknown;
            readonly keep: components["schemas"]["Keep"];
            readonly alarms: components["schemas"]["Alarms"];
            readonly ping: {
                /** @description Its URL without path and query. */
                readonly address: string;
                /** @description Whether `/start` is asked for when a run begins. */
                readonly start: boolean;
                /** @description Whether `/fail` is asked for when a run has failed. */
                readonly fail: boolean;
                /** @description `false` since it answered `410 Gone`. */
                readonly enabled: boolean;
            } | null;
            /** @description Since when the last archive is older than `alarms` allows; null while it is not. */
            readonly overdueSince: string | null;
            readonly verify: boolean;
            readonly enabled: boolean;
            /** @description The token in whose name it runs; null for the root token. */
            readonly createdBy: string | null;
            /** Format: date-time */
            readonly createdAt: string;
            /** @description null while it is not enabled. */
            readonly nextRunAt: string | null;
            readonly lastRun: components["schemas"]["ScheduleRun"] | null;
            readonly lastSuccess: components["schemas"]["ScheduleRun"] | null;
            /** @description The last run whose archive is proven to be one that can be restored. */
            readonly lastProven: components["schemas"]["ScheduleRun"] | null;
            readonly links: {
                readonly self: string;
                readonly run: string;
            };
        };
        /** @description The outcome of one time at which a schedule was due. */
        readonly ScheduleRun: {
            /**
             * Format: date-time
             * @description For a run that was started by hand, when that was.
             */
            readonly dueAt: string;
            readonly byHand: boolean;
            /** @description Its job; null where it was skipped. */
            readonly jobId: string | null;
            /**
             * @description The status of its job; `skipped` where the previous run had not ended, `removed` where its job was deleted before its outcome was known.
             * @enum {string}
             */
            readonly status: "queued" | "running" | "succeeded" | "failed" | "cancelled" | "skipped" | "removed";
            /** @description Why it failed. */
            readonly error: {
                readonly code: string;
                readonly detail: string;
                /** @description Each thing at fault, the first 20: where a proof failed, each table, row count or other object that differed. */
                readonly errors: readonly {
                    /** @description The field of the JSON body at fault, as an RFC 6901 pointer. */
                    readonly pointer?: string;
                    /** @description The line of the file or of the SQL at fault, from 1. */
                    readonly line?: number;
                    readonly detail: string;
                }[];
            } | null;
            readonly finishedAt: string | null;
            /** @description When its archive was restored and found to be identical; null where that was not done, or the archive is damaged. */
            readonly provenAt: string | null;
            /** @description When its archive was found to be no longer what was written; null where nobody knows that it is. */
            readonly archiveDamagedAt: string | null;
            /** @description How many rights, publications and other things its archive lacks, since no archive can hold them, or since `grants` was not asked for; the result of its job names them. null where there is no result, or none any more. */
            readonly notExported: number | null;
            /** @description Whether its archive lacks rows, which `allowIncomplete` of the request accepted. It is never proven then. null where there is no result, or one that does not say so. */
            readonly lacksRows: boolean | null;
            /** @description What is new and what is gone; null where the schedule has no patterns, and where there is no result, or none any more. */
            readonly matched: components["schemas"]["MatchedProjects"] | null;
        };
        readonly MatchedProjects: {
            /** @description Those that it did not have. None for the first run. */
            readonly newProjects: readonly string[];
            /** @description What the archive does not have, since it is gone. */
            readonly goneProjects: readonly {
                readonly project: string;
                /** @description Where only this stage is gone. */
                readonly stage: string | null;
                /**
                 * @description What is gone: the project, the database or the schema that it is attached to, or the permission of the token in whose name the schedule runs. A project whose database is gone is named by each run, until it is detached.
                 * @enum {string}
                 */
                readonly gone: "project" | "database" | "schema" | "permission";
            }[];
            /** @description Databases of attached servers that could not be attached, or not be looked into for new schemas: what is new there is not in the archive. */
            readonly refused: readonly {
                readonly server: string;
                readonly database: string;
                readonly reason: string;
            }[];
        };
        readonly ScheduleDetail: {
            /** Format: uuid */
            readonly id: string;
            readonly name: string;
            readonly cron: string;
            readonly timezone: string;
            /** @enum {string} */
            readonly kind: "export" | "transfer";
            /** @description What its jobs are asked for with; tokens in it are masked. */
            readonly request: unknown;
            readonly keep: components["schemas"]["Keep"];
            readonly alarms: components["schemas"]["Alarms"];
            readonly ping: {
                /** @description Its URL without path and query. */
                readonly address: string;
                /** @description Whether `/start` is asked for when a run begins. */
                readonly start: boolean;
                /** @description Whether `/fail` is asked for when a run has failed. */
                readonly fail: boolean;
                /** @description `false` since it answered `410 Gone`. */
                readonly enabled: boolean;
            } | null;
            /** @description Since when the last archive is older than `alarms` allows; null while it is not. */
            readonly overdueSince: string | null;
            readonly verify: boolean;
            readonly enabled: boolean;
            /** @description The token in whose name it runs; null for the root token. */
            readonly createdBy: string | null;
            /** Format: date-time */
            readonly createdAt: string;
            /** @description null while it is not enabled. */
            readonly nextRunAt: string | null;
            readonly lastRun: components["schemas"]["ScheduleRun"] | null;
            readonly lastSuccess: components["schemas"]["ScheduleRun"] | null;
            /** @description The last run whose archive is proven to be one that can be restored. */
            readonly lastProven: components["schemas"]["ScheduleRun"] | null;
            readonly links: {
                readonly self: string;
                readonly run: string;
            };
            /** @description The next times at which it is due. */
            readonly nextRuns: readonly string[];
            /** @description The newest runs, the newest first. */
            readonly runs: readonly components["schemas"]["ScheduleRun"][];
        };
        readonly Webhook: {
            /** Format: uuid */
            readonly id: string;
            readonly name: string;
            /**
             * @description `ping` for that of a schedule.
             * @enum {string}
             */
            readonly kind: "standard" | "slack" | "discord" | "teams" | "telegram" | "ntfy" | "mail" | "ping";
            /** @description The schedule whose ping it is: the schedule has to be changed, then. */
            readonly scheduleId: string | null;
            /** @description Its URL without path and query, which can be secret. */
            readonly address: string;
            readonly events: readonly ("job.succeeded" | "job.failed" | "job.cancelled" | "proof.failed" | "schedule.missed" | "archive.overdue" | "archive.shrunk" | "job.started")[];
            /** @description Only of jobs of these kinds; none means all. */
            readonly jobKinds: readonly ("export" | "import" | "transfer")[];
            readonly projects: readonly string[];
            /** @description Only runs of these schedules; none means all. */
            readonly schedules: readonly string[];
            readonly enabled: boolean;
            /** @description When Wharf disabled it, since it answered `410 Gone`; null where it did not. */
            readonly goneAt: string | null;
            /** Format: date-time */
            readonly createdAt: string;
        };
        /** @description A webhook with its secret, which is shown once. */
        readonly NewWebhook: {
            /** Format: uuid */
            readonly id: string;
            readonly name: string;
            /**
             * @description `ping` for that of a schedule.
             * @enum {string}
             */
            readonly kind: "standard" | "slack" | "discord" | "teams" | "telegram" | "ntfy" | "mail" | "ping";
            /** @description The schedule whose ping it is: the schedule has to be changed, then. */
            readonly scheduleId: string | null;
            /** @description Its URL without path and query, which can be secret. */
            readonly address: string;
            readonly events: readonly ("job.succeeded" | "job.failed" | "job.cancelled" | "proof.failed" | "schedule.missed" | "archive.overdue" | "archive.shrunk" | "job.started")[];
            /** @description Only of jobs of these kinds; none means all. */
            readonly jobKinds: readonly ("export" | "import" | "transfer")[];
            readonly projects: readonly string[];
            /** @description Only runs of these schedules; none means all. */
            readonly schedules: readonly string[];
            readonly enabled: boolean;
            /** @description When Wharf disabled it, since it answered `410 Gone`; null where it did not. */
            readonly goneAt: string | null;
            /** Format: date-time */
            readonly createdAt: string;
            /** @description What its requests are signed with, `whsec_…`; null where its kind is not signed. */
            readonly secret: string | null;
        };
        /** @description A notification on its way to a webhook. */
        readonly Delivery: {
            /** Format: uuid */
            readonly id: string;
            /**
             * Format: uuid
             * @description `webhook-id` of its requests: the same each time that it is sent.
             */
            readonly notificationId: string;
            readonly type: string;
            readonly jobId: string | null;
            /** @enum {string} */
            readonly status: "waiting" | "sent" | "failed";
            /** @description How often it was tried. */
            readonly attempt: number;
            /** @description The status of the last answer; null where there was none. */
            readonly answered: number | null;
            /** @description Why the last attempt failed. */
            readonly error: string | null;
            /** Format: date-time */
            readonly createdAt: string;
            readonly triedAt: string | null;
            /** @description When it is tried next; null where it is not. */
            readonly dueAt: string | null;
            /** @description When it was sent, or given up. */
            readonly endedAt: string | null;
        };
        /** @description An error, as an RFC 9457 problem document. */
        readonly Problem: {
            /**
             * @description What went wrong, for programs.
             * @example urn:wharf:error:not-found
             */
            readonly type: string;
            /** @description The same for people. */
            readonly title: string;
            readonly status: number;
            /** @description What went wrong this time, and what to do. */
            readonly detail: string;
            /** @description The request, as `urn:wharf:request:` and its `X-Request-Id`. */
            readonly instance: string;
            /** @description Each thing at fault, where there can be several. */
            readonly errors?: readonly {
                /** @description The field of the JSON body at fault, as an RFC 6901 pointer. */
                readonly pointer?: string;
                /** @description The line of the file or of the SQL at fault, from 1. */
                readonly line?: number;
                readonly detail: string;
            }[];
            /** @description The same as `detail`, in the words of PostgREST where it has some. */
            readonly message?: string;
            /** @description SQLSTATE, a code of PostgREST, or our own, for the same. */
            readonly code?: string;
            readonly details?: (string | readonly {
                readonly [key: string]: string;
            }[]) | null;
            readonly hint?: string | null;
        };
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: {
        /** @description The request's name in logs and problem documents: the client's own, if well formed, or a new one. */
        readonly "X-Request-Id": string;
    };
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    readonly showOverview: {
        readonly parameters: {
            readonly query?: {
                /** @description How many to answer at most. */
                readonly limit?: number;
                /** @description `next` of the page before this one. */
                readonly after?: string;
                /** @description Only projects with this in their slug. */
                readonly search?: string;
                /** @description Only projects with `overdueSince`. */
                readonly overdue?: boolean;
            };
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description A page of projects, by slug. */
            readonly 200: {
                headers: {
                    readonly "X-Request-Id": components["headers"]["X-Request-Id"];
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": {
                        readonly items: readonly components["schemas"]["ProjectOverview"][];
                        /** @description `after` of the next page; null on the last one. */
                        readonly next: string | null;
                    };
                };
            };
        };
    };
    readonly listProjects: {
        readonly parameters: {
            readonly query?: {
                /** @description How many to answer at most. */
                readonly limit?: number;
                /** @description `next` of the page before this one. */
                readonly after?: string;
                /** @description Only projects with this in their slug. */
                readonly search?: string;
            };
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description A page of projects. */
            readonly 200: {
                headers: {
                    readonly "X-Request-Id": components["headers"]["X-Request-Id"];
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": {
                        readonly items: readonly components["schemas"]["Project"][];
                        /** @description `after` of the next page; null on the last one. */
                        readonly next: string | null;
                    };
                };
            };
        };
    };
    readonly createProject: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: {
                /** @description What the operator's own command line sends, so that the host of the address need not be listed. */
                readonly "wharf-command-proof"?: string;
            };
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": {
                    readonly slug: components["schemas"]["Slug"];
                    /** @description `live` where it is left out. */
                    readonly stages?: readonly components["schemas"]["Slug"][];
                    /** @description Whether the project gets a database of its own on the same server, in which its first stage is the schema `public`. */
                    readonly ownDatabase?: boolean;
                    readonly attach?: {
                        /** @description The address of the database, with its password: `postgres://login:password@host:port/database`, and parameters as libpq has them. It is kept encrypted, and never shown again. It cannot name files or sockets of this server. */
                        readonly address: string;
                        readonly stages: readonly {
                            readonly slug: components["schemas"]["Slug"];
                            /** @description The PostgreSQL schema that is the stage. */
                            readonly schema: string;
                            /** @description Whether an event log of the stage is kept in its database, by triggers on its tables, so that its rows can be read at `/content`. */
                            readonly logEvents?: boolean;
                        }[];
                    };
                };
            };
        };
        readonly responses: {
            /** @description The new project. */
            readonly 201: {
                headers: {
                    readonly "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description Path of the project. */
                    readonly location?: string;
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Project"];
                };
            };
        };
    };
    readonly showProject: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /** @description The name of a project or of a stage. */
                readonly slug: components["schemas"]["Slug"];
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The project. */
            readonly 200: {
                headers: {
                    readonly "X-Request-Id": components["headers"]["X-Request-Id"];
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Project"];
                };
            };
        };
    };
    readonly deleteProject: {
        readonly parameters: {
            readonly query?: {
                /** @description Has schedules go with the projects that they name, or leaves these out of schedules that export others, too. Without, nothing is forgotten that a schedule names. */
                readonly deleteSchedules?: boolean;
            };
            readonly header?: never;
            readonly path: {
                /** @description The name of a project or of a stage. */
                readonly slug: components["schemas"]["Slug"];
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The project is gone. */
            readonly 204: {
                headers: {
                    readonly "X-Request-Id": components["headers"]["X-Request-Id"];
                    readonly [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    readonly changeProject: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /** @description The name of a project or of a stage. */
                readonly slug: components["schemas"]["Slug"];
            };
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": {
                    readonly eventLog: {
                        /** @description For how many days events are kept; 0 for ever, null as WHARF_EVENT_LOG_DAYS has it. */
                        readonly keepDays?: number | null;
                        /** @description How many events the log of each stage keeps; 0 any number, null as WHARF_EVENT_LOG_EVENTS has it. */
                        readonly keepEvents?: number | null;
                    };
                };
            };
        };
        readonly responses: {
            /** @description The project. */
            readonly 200: {
                headers: {
                    readonly "X-Request-Id": components["headers"]["X-Request-Id"];
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Project"];
                };
            };
        };
    };
    readonly listStages: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /** @description The name of a project or of a stage. */
                readonly slug: components["schemas"]["Slug"];
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description All stages. */
            readonly 200: {
                headers: {
                    readonly "X-Request-Id": components["headers"]["X-Request-Id"];
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": {
                        readonly items: readonly components["schemas"]["Stage"][];
                        /** @description `after` of the next page; null on the last one. */
                        readonly next: string | null;
                    };
                };
            };
        };
    };
    readonly createStage: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /** @description The name of a project or of a stage. */
                readonly slug: components["schemas"]["Slug"];
            };
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": {
                    readonly slug: components["schemas"]["Slug"];
                    /** @description Of an attached project, and only there: the schema that is the stage. */
                    readonly schema?: string;
                    /** @description Whether an event log of the stage is kept in its database, by triggers on its tables, so that its rows can be read at `/content`. */
                    readonly logEvents?: boolean;
                };
            };
        };
        readonly responses: {
            /** @description The new stage. */
            readonly 201: {
                headers: {
                    readonly "X-Request-Id": components["headers"]["X-Request-Id"];
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Stage"];
                };
            };
        };
    };
    readonly deleteStage: {
        readonly parameters: {
            readonly query?: {
                /** @description Of what is attached: leaves what imports have left there, e.g. where the database is not to be reached. */
                readonly force?: boolean;
            };
            readonly header?: never;
            readonly path: {
                /** @description The name of a project or of a stage. */
                readonly slug: components["schemas"]["Slug"];
                /** @description The name of a project or of a stage. */
                readonly stage: components["schemas"]["Slug"];
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The stage is gone. */
            readonly 204: {
                headers: {
                    readonly "X-Request-Id": components["headers"]["X-Request-Id"];
                    readonly [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    readonly changeStage: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /** @description The name of a project or of a stage. */
                readonly slug: components["schemas"]["Slug"];
                /** @description The name of a project or of a stage. */
                readonly stage: components["schemas"]["Slug"];
            };
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": {
                    /** @description Whether an event log of the stage is kept in its database, by triggers on its tables, so that its rows can be read at `/content`. */
                    readonly logEvents: boolean;
                };
            };
        };
        readonly responses: {
            /** @description The stage. */
            readonly 200: {
                headers: {
                    readonly "X-Request-Id": components["headers"]["X-Request-Id"];
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Stage"];
                };
            };
        };
    };
    readonly showAttachment: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /** @description The name of a project or of a stage. */
                readonly slug: components["schemas"]["Slug"];
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description What was found in the database. */
            readonly 200: {
                headers: {
                    readonly "X-Request-Id": components["headers"]["X-Request-Id"];
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Attachment"];
                };
            };
        };
    };
    readonly changeAttachment: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: {
                /** @description What the operator's own command line sends, so that the host of the address need not be listed. */
                readonly "wharf-command-proof"?: string;
            };
            readonly path: {
                /** @description The name of a project or of a stage. */
                readonly slug: components["schemas"]["Slug"];
            };
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": {
                    /** @description The address of the database, with its password: `postgres://login:password@host:port/database`, and parameters as libpq has them. It is kept encrypted, and never shown again. It cannot name files or sockets of this server. */
                    readonly address: string;
                };
            };
        };
        readonly responses: {
            /** @description The project. */
            readonly 200: {
                headers: {
                    readonly "X-Request-Id": components["headers"]["X-Request-Id"];
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Project"];
                };
            };
        };
    };
    readonly detachProject: {
        readonly parameters: {
            readonly query?: {
                /** @description Of what is attached: leaves what imports have left there, e.g. where the database is not to be reached. */
                readonly force?: boolean;
                /** @description Has schedules go with the projects that they name, or leaves these out of schedules that export others, too. Without, nothing is forgotten that a schedule names. */
                readonly deleteSchedules?: boolean;
            };
            readonly header?: never;
            readonly path: {
                /** @description The name of a project or of a stage. */
                readonly slug: components["schemas"]["Slug"];
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The project is not known any more. */
            readonly 204: {
                headers: {
                    readonly "X-Request-Id": components["headers"]["X-Request-Id"];
                    readonly [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    readonly listAttachedServers: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description All of them. */
            readonly 200: {
                headers: {
                    readonly "X-Request-Id": components["headers"]["X-Request-Id"];
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": {
                        readonly items: readonly components["schemas"]["AttachedServer"][];
                        /** @description `after` of the next page; null on the last one. */
                        readonly next: string | null;
                    };
                };
            };
        };
    };
    readonly attachServer: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: {
                /** @description What the operator's own command line sends, so that the host of the address need not be listed. */
                readonly "wharf-command-proof"?: string;
            };
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": {
                    /** @description What the server is called here; made of its host's name by default. */
                    readonly name?: components["schemas"]["Slug"];
                    /** @description The address of the server, with its password: `postgres://login:password@host:port/database?exclude=a,b*`. The database is the one in which the others are looked for, `postgres` where it is left out. `exclude` names databases that are left out, with commas between: `*` stands for any characters, `?` for a single one, and what is in double quotes for itself. The address is kept encrypted, and never shown again. */
                    readonly address: string;
                    /** @description What the slugs of its projects begin with. */
                    readonly prefix?: string;
                };
            };
        };
        readonly responses: {
            /** @description The server, which was attached already. */
            readonly 200: {
                headers: {
                    readonly "X-Request-Id": components["headers"]["X-Request-Id"];
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["LookedAtServer"];
                };
            };
            /** @description The server, with what became of each database. */
            readonly 201: {
                headers: {
                    readonly "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description Path of the server. */
                    readonly location?: string;
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["LookedAtServer"];
                };
            };
        };
    };
    readonly showAttachedServer: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /** @description The name of a project or of a stage. */
                readonly name: components["schemas"]["Slug"];
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The server. */
            readonly 200: {
                headers: {
                    readonly "X-Request-Id": components["headers"]["X-Request-Id"];
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["AttachedServer"];
                };
            };
        };
    };
    readonly changeAttachedServer: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: {
                /** @description What the operator's own command line sends, so that the host of the address need not be listed. */
                readonly "wharf-command-proof"?: string;
            };
            readonly path: {
                /** @description The name of a project or of a stage. */
                readonly name: components["schemas"]["Slug"];
            };
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": {
                    /** @description The address of the server, with its password: `postgres://login:password@host:port/database?exclude=a,b*`. The database is the one in which the others are looked for, `postgres` where it is left out. `exclude` names databases that are left out, with commas between: `*` stands for any characters, `?` for a single one, and what is in double quotes for itself. The address is kept encrypted, and never shown again. */
                    readonly address: string;
                };
            };
        };
        readonly responses: {
            /** @description The server, with what became of each database. */
            readonly 200: {
                headers: {
                    readonly "X-Request-Id": components["headers"]["X-Request-Id"];
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["LookedAtServer"];
                };
            };
        };
    };
    readonly detachServer: {
        readonly parameters: {
            readonly query?: {
                /** @description Of what is attached: leaves what imports have left there, e.g. where the database is not to be reached. */
                readonly force?: boolean;
                /** @description Has schedules go with the projects that they name, or leaves these out of schedules that export others, too. Without, nothing is forgotten that a schedule names. */
                readonly deleteSchedules?: boolean;
            };
            readonly header?: never;
            readonly path: {
                /** @description The name of a project or of a stage. */
                readonly name: components["schemas"]["Slug"];
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The server is not known any more, nor are its projects. */
            readonly 204: {
                headers: {
                    readonly "X-Request-Id": components["headers"]["X-Request-Id"];
                    readonly [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    readonly lookAtServer: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /** @description The name of a project or of a stage. */
                readonly name: components["schemas"]["Slug"];
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The server, with what became of each database. */
            readonly 200: {
                headers: {
                    readonly "X-Request-Id": components["headers"]["X-Request-Id"];
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["LookedAtServer"];
                };
            };
        };
    };
    readonly showStatus: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description What `wharf status` says. */
            readonly 200: {
                headers: {
                    readonly "X-Request-Id": components["headers"]["X-Request-Id"];
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Status"];
                };
            };
        };
    };
    readonly runDoctor: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description What each check has found. */
            readonly 200: {
                headers: {
                    readonly "X-Request-Id": components["headers"]["X-Request-Id"];
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Doctor"];
                };
            };
        };
    };
    readonly showQueue: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description What is in the queue now. */
            readonly 200: {
                headers: {
                    readonly "X-Request-Id": components["headers"]["X-Request-Id"];
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Queue"];
                };
            };
        };
    };
    readonly listEvents: {
        readonly parameters: {
            readonly query?: {
                /** @description How many to answer at most. */
                readonly limit?: number;
                readonly after?: string;
            };
            readonly header?: never;
            readonly path: {
                /** @description The name of a project or of a stage. */
                readonly slug: components["schemas"]["Slug"];
                /** @description The name of a project or of a stage. */
                readonly stage: components["schemas"]["Slug"];
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description A page of events. */
            readonly 200: {
                headers: {
                    readonly "X-Request-Id": components["headers"]["X-Request-Id"];
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": {
                        readonly items: readonly components["schemas"]["Event"][];
                        /** @description `after` of the next page; null on the last one. */
                        readonly next: string | null;
                    };
                };
            };
        };
    };
    readonly listRoles: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /** @description The name of a project or of a stage. */
                readonly slug: components["schemas"]["Slug"];
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description All roles. */
            readonly 200: {
                headers: {
                    readonly "X-Request-Id": components["headers"]["X-Request-Id"];
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": {
                        readonly items: readonly components["schemas"]["Role"][];
                        /** @description `after` of the next page; null on the last one. */
                        readonly next: string | null;
                    };
                };
            };
        };
    };
    readonly setRole: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /** @description The name of a project or of a stage. */
                readonly slug: components["schemas"]["Slug"];
                readonly role: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": {
                    /** @default {} */
                    readonly content?: {
                        /** @default false */
                        readonly read?: boolean;
                        /** @default false */
                        readonly write?: boolean;
                        /** @default false */
                        readonly export?: boolean;
                        /** @default false */
                        readonly import?: boolean;
                        /** @default false */
                        readonly structure?: boolean;
                    };
                    /** @default {} */
                    readonly system?: {
                        /** @default false */
                        readonly export?: boolean;
                        /** @default false */
                        readonly import?: boolean;
                    };
                };
            };
        };
        readonly responses: {
            /** @description The role as it is now. */
            readonly 200: {
                headers: {
                    readonly "X-Request-Id": components["headers"]["X-Request-Id"];
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Role"];
                };
            };
        };
    };
    readonly deleteRole: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /** @description The name of a project or of a stage. */
                readonly slug: components["schemas"]["Slug"];
                readonly role: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The role is gone. */
            readonly 204: {
                headers: {
                    readonly "X-Request-Id": components["headers"]["X-Request-Id"];
                    readonly [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    readonly applySchema: {
        readonly parameters: {
            readonly query?: {
                /** @description The schema of the script that means the stage. `public` where it is left out and the script is a dump, which the comment at its beginning says; none where it is no dump. */
                readonly schema?: string;
                /** @description Refuses a dump with a statement that would be passed over. */
                readonly strict?: boolean;
            };
            readonly header?: never;
            readonly path: {
                /** @description The name of a project or of a stage. */
                readonly slug: components["schemas"]["Slug"];
                /** @description The name of a project or of a stage. */
                readonly stage: components["schemas"]["Slug"];
            };
            readonly cookie?: never;
        };
        /** @description Any number of statements, with the rows behind COPY … FROM stdin; `Content-Encoding: gzip` where it is compressed. UTF-8, until it sets `client_encoding`. */
        readonly requestBody: {
            readonly content: {
                readonly "application/sql": string;
            };
        };
        readonly responses: {
            /** @description The script has been applied. */
            readonly 200: {
                headers: {
                    readonly "X-Request-Id": components["headers"]["X-Request-Id"];
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": {
                        /**
                         * Format: uuid
                         * @description The record of this change.
                         */
                        readonly id: string;
                        readonly stage: components["schemas"]["Slug"];
                        /** @description How many tables the stage has now. */
                        readonly tables: number;
                        /** @description How many statements were run. */
                        readonly statements: number;
                        /** @description How many rows the COPY blocks of the script had. */
                        readonly rows: number;
                        /** @description The statements of a dump that say nothing about a stage, and were not run. */
                        readonly passedOver: readonly {
                            /** @description What it is in SQL's words, e.g. `OWNER TO`. */
                            readonly statement: string;
                            readonly count: number;
                            /** @description Where the first of them is. */
                            readonly line: number;
                        }[];
                        /** @description The functions of a dump whose body names the dump's schema where that could not be mapped, such as SQL in strings. `DO` stands for a `DO` statement. */
                        readonly unmappedFunctions: readonly {
                            readonly name: string;
                            readonly line: number;
                        }[];
                    };
                };
            };
        };
    };
    readonly listTokens: {
        readonly parameters: {
            readonly query?: {
                /** @description How many to answer at most. */
                readonly limit?: number;
                readonly after?: string;
                readonly project?: components["schemas"]["Slug"];
            };
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description A page of tokens. */
            readonly 200: {
                headers: {
                    readonly "X-Request-Id": components["headers"]["X-Request-Id"];
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": {
                        readonly items: readonly components["schemas"]["Token"][];
                        /** @description `after` of the next page; null on the last one. */
                        readonly next: string | null;
                    };
                };
            };
        };
    };
    readonly createToken: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": {
                    readonly name: string;
                    readonly memberships: readonly {
                        readonly project: components["schemas"]["Slug"];
                        readonly role: string;
                    }[];
                    /** Format: date-time */
                    readonly expiresAt?: string;
                };
            };
        };
        readonly responses: {
            /** @description The new token. */
            readonly 201: {
                headers: {
                    readonly "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description Path of the token. */
                    readonly location?: string;
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["NewToken"];
                };
            };
        };
    };
    readonly showToken: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                readonly id: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The token. */
            readonly 200: {
                headers: {
                    readonly "X-Request-Id": components["headers"]["X-Request-Id"];
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Token"];
                };
            };
        };
    };
    readonly revokeToken: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                readonly id: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The token is revoked. */
            readonly 204: {
                headers: {
                    readonly "X-Request-Id": components["headers"]["X-Request-Id"];
                    readonly [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    readonly whoAmI: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The caller. */
            readonly 200: {
                headers: {
                    readonly "X-Request-Id": components["headers"]["X-Request-Id"];
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Me"];
                };
            };
        };
    };
    readonly beginSession: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": {
                    /** @description For how long. */
                    readonly days: number;
                };
            };
        };
        readonly responses: {
            /** @description The browser has the cookie. */
            readonly 204: {
                headers: {
                    readonly "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description The cookie. */
                    readonly "set-cookie"?: string;
                    readonly [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    readonly endSession: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The browser has no cookie any more. */
            readonly 204: {
                headers: {
                    readonly "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description An empty cookie, which has ended. */
                    readonly "set-cookie"?: string;
                    readonly [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    readonly exportProjects: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: {
                /** @description `respond-async` asks for a job instead of the result. */
                readonly prefer?: string;
                /** @description The same key within 24 hours gives the same job, however often the request is sent. */
                readonly "idempotency-key"?: string;
                readonly "content-encoding"?: string;
                readonly "accept-encoding"?: string;
            };
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": {
                    readonly projects: readonly {
                        readonly slug: components["schemas"]["Slug"];
                        /**
                         * @description Whether the system section (roles and event log) is included.
                         * @default false
                         */
                        readonly system?: boolean;
                        /** @description Where an import of the archive goes, instead of to `slug`. */
                        readonly targetSlug?: components["schemas"]["Slug"];
                        /** @description Only these stages; all where it is missing. */
                        readonly stages?: readonly components["schemas"]["Slug"][];
                        /** @description Tables whose structure and rows are left out. */
                        readonly excludeTables?: readonly string[];
                        /** @description Whether the archive has the rights of other roles on the stages, which an import gives to those that exist at the target, in place of those that there are. Importing them needs `content.structure`. By default they are named, and left out. */
                        readonly grants?: boolean;
                    }[];
                    /** @description Whether rows may be missing that no archive can hold. By default that is refused. */
                    readonly allowIncomplete?: boolean;
                    /** @description How many sessions read one database side by side, at most. By default as many as the server has processors, up to 4; one with `maxBytesPerSecond`. Fewer do where connections are needed for others (`WHARF_HELPING_SESSIONS`), and for small databases. The archive is the same for any number, but for its first line. */
                    readonly jobs?: number;
                    /** @description How many bytes of the archive are made in a second, at most, before they are compressed: so that others who use the database are disturbed less. The export takes longer then, and its snapshot lasts longer. By default as many as can be. */
                    readonly maxBytesPerSecond?: number;
                    /**
                     * @description How the archive is compressed. zstd takes less room, where both servers run on a Node.js that has it (22.15 and newer). By default gzip, which is read everywhere; or what the headers ask for, where the archive is the answer.
                     * @enum {string}
                     */
                    readonly compression?: "gzip" | "zstd";
                };
            };
        };
        readonly responses: {
            /** @description The archive. */
            readonly 200: {
                headers: {
                    readonly "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description `gzip` or `zstd` where the archive is compressed. */
                    readonly "content-encoding"?: string;
                    /** @description A name for the file. */
                    readonly "content-disposition"?: string;
                    /** @description How many rows to expect, by PostgreSQL's own estimate; missing where there is none. */
                    readonly "wharf-rows-estimate"?: string;
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/x-ndjson": string;
                };
            };
            /** @description The job, which goes on by itself. */
            readonly 202: {
                headers: {
                    readonly "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description Path of the job. */
                    readonly location?: string;
                    /** @description `respond-async`, where it was asked for. */
                    readonly "preference-applied"?: string;
                    /** @description How many seconds to wait before asking about the job. */
                    readonly "retry-after"?: string;
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Job"];
                };
            };
        };
    };
    readonly examineExport: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": {
                    readonly projects: readonly {
                        readonly slug: components["schemas"]["Slug"];
                        /**
                         * @description Whether the system section (roles and event log) is included.
                         * @default false
                         */
                        readonly system?: boolean;
                        /** @description Where an import of the archive goes, instead of to `slug`. */
                        readonly targetSlug?: components["schemas"]["Slug"];
                        /** @description Only these stages; all where it is missing. */
                        readonly stages?: readonly components["schemas"]["Slug"][];
                        /** @description Tables whose structure and rows are left out. */
                        readonly excludeTables?: readonly string[];
                        /** @description Whether the archive has the rights of other roles on the stages, which an import gives to those that exist at the target, in place of those that there are. Importing them needs `content.structure`. By default they are named, and left out. */
                        readonly grants?: boolean;
                    }[];
                };
            };
        };
        readonly responses: {
            /** @description What it would lack, since no archive can hold it, or since `grants` was not asked for. */
            readonly 200: {
                headers: {
                    readonly "X-Request-Id": components["headers"]["X-Request-Id"];
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": {
                        readonly complete: boolean;
                        readonly notExported: readonly {
                            /** @description Its slug, where the archive has several projects. */
                            readonly project?: string;
                            readonly stage: string;
                            readonly kind: string;
                            readonly name: string;
                            readonly detail?: string;
                            /** @description `true` where rows are missing for lack of it. */
                            readonly rows?: boolean;
                        }[];
                    };
                };
            };
        };
    };
    readonly importArchive: {
        readonly parameters: {
            readonly query?: {
                /** @description Where the data goes, for one project. */
                readonly targetSlug?: components["schemas"]["Slug"];
                /** @description Imports this project of the archive, and none of the others, of which nothing is checked. Faults count the lines of this project alone, as if the others had none. */
                readonly project?: components["schemas"]["Slug"];
                /** @description Does all the checks, and answers with what would happen. */
                readonly dryRun?: boolean;
                /** @description Accepts an archive whose rows were edited: counts and sums may disagree. */
                readonly allowEdited?: boolean;
                /** @description Accepts an archive that lacks rows of what it was made from. By default that is refused. */
                readonly allowIncomplete?: boolean;
                /** @description How many sessions load one stage side by side, at most. By default one more than the server has processors, up to 4. One does where connections are needed for others (`WHARF_HELPING_SESSIONS`), for small archives, in a database of your own, and where the order of the tables can matter. The rows are the same for any number. */
                readonly jobs?: number;
            };
            readonly header?: {
                /** @description `respond-async` asks for a job instead of the result. */
                readonly prefer?: string;
                /** @description The same key within 24 hours gives the same job, however often the request is sent. */
                readonly "idempotency-key"?: string;
            };
            readonly path?: never;
            readonly cookie?: never;
        };
        /** @description The archive; `Content-Encoding: gzip` where it is compressed. */
        readonly requestBody: {
            readonly content: {
                readonly "application/x-ndjson": string;
            };
        };
        readonly responses: {
            /** @description The archive has been imported; or could be, where `dryRun` was asked for. */
            readonly 200: {
                headers: {
                    readonly "X-Request-Id": components["headers"]["X-Request-Id"];
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": {
                        /** @constant */
                        readonly ok: true;
                        readonly dryRun: boolean;
                        readonly projects: readonly {
                            /** @description Where the data came from. */
                            readonly slug: components["schemas"]["Slug"];
                            /** @description Where it went. */
                            readonly targetSlug: components["schemas"]["Slug"];
                            /** @description How many roles of the archive replaced those of the target, as the event log did; null where the archive has no system section, which leaves both as they are. */
                            readonly roles: number | null;
                            /** @description How the roles of the target differ from those of the archive. An import gives and takes only permissions that its caller has in the target, and leaves the role `public` alone; the root token may do all. */
                            readonly rolesLeftOut: readonly {
                                readonly role: string;
                                /** @description Permissions that the role has in the archive, and does not get. */
                                readonly notGiven: readonly ("content.read" | "content.write" | "content.export" | "content.import" | "content.structure" | "system.export" | "system.import")[];
                                /** @description Permissions that the role has in the target and not in the archive, and keeps. */
                                readonly notTaken: readonly ("content.read" | "content.write" | "content.export" | "content.import" | "content.structure" | "system.export" | "system.import")[];
                            }[];
                            readonly stages: readonly ({
                                readonly slug: components["schemas"]["Slug"];
                                readonly tables: number;
                                readonly rows: number;
                                /** @description Whether what is replaced is kept, so that `undo` can bring it back. It is not where the stage is loaded in place, or where the operator has turned that off. */
                                readonly undoable: boolean;
                                /** @description Rights and policies of the archive that the stage does not get, for instance since their role does not exist there. */
                                readonly leftOut: readonly {
                                    /** @enum {string} */
                                    readonly kind: "grant" | "policy";
                                    readonly name: string;
                                    readonly detail: string;
                                }[];
                                /** @description What keeps its rows in a stage that is loaded in place, since no archive can hold them: for instance partitions in another schema. */
                                readonly notReplaced: readonly {
                                    readonly kind: string;
                                    readonly name: string;
                                    readonly detail?: string;
                                }[];
                                /**
                                 * Format: date-time
                                 * @description In the result of a job: when that was undone. Missing where it was not, or is put back.
                                 */
                                readonly undoneAt?: string;
                            } | {
                                readonly slug: components["schemas"]["Slug"];
                                /**
                                 * @description `build`: the stage is empty and would be built from the archive. `swap`: the rows would be loaded beside, and then replace the existing ones. `in place`: the stage has things that an archive does not describe, so its tables would be emptied and loaded where they are.
                                 * @enum {string}
                                 */
                                readonly mode: "build" | "swap" | "in place";
                                /** @description Why it would be loaded in place: what depends on it elsewhere, for instance. */
                                readonly reasonsInPlace: readonly string[];
                                /** @description Whether what is replaced is kept, so that `undo` can bring it back. It is not where the stage is loaded in place, or where the operator has turned that off. */
                                readonly undoable: boolean;
                                /** @description For how many hours what would be replaced is kept; 0 where it is not. */
                                readonly undoHours: number;
                                /** @description Rights and policies of the archive that the stage does not get, for instance since their role does not exist there. */
                                readonly leftOut: readonly {
                                    /** @enum {string} */
                                    readonly kind: "grant" | "policy";
                                    readonly name: string;
                                    readonly detail: string;
                                }[];
                                /** @description What keeps its rows in a stage that is loaded in place, since no archive can hold them: for instance partitions in another schema. */
                                readonly notReplaced: readonly {
                                    readonly kind: string;
                                    readonly name: string;
                                    readonly detail?: string;
                                }[];
                                readonly tables: readonly {
                                    readonly name: string;
                                    /** @description As the project's own login sees them; null where the table would be created. */
                                    readonly rowsNow: number | null;
                                    readonly rowsAfter: number;
                                }[];
                                /** @description Those that a stage which is built from the archive needs. */
                                readonly extensions: readonly {
                                    readonly name: string;
                                    /** @description Where the archive was made. Another one is no reason to refuse it. */
                                    readonly version: string;
                                    /** @description null where it would be made, for all projects. */
                                    readonly versionNow: string | null;
                                }[];
                            })[];
                        }[];
                        /** @description Whether the archive has all that its stages had, but for tables that were excluded; null where that is not known, since an earlier version wrote it. */
                        readonly complete: boolean | null;
                        readonly notExported: readonly {
                            /** @description Its slug, where the archive has several projects. */
                            readonly project?: string;
                            readonly stage: string;
                            readonly kind: string;
                            readonly name: string;
                            readonly detail?: string;
                            /** @description `true` where rows are missing for lack of it. */
                            readonly rows?: boolean;
                        }[];
                    };
                };
            };
            /** @description The job, which goes on by itself. */
            readonly 202: {
                headers: {
                    readonly "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description Path of the job. */
                    readonly location?: string;
                    /** @description `respond-async`, where it was asked for. */
                    readonly "preference-applied"?: string;
                    /** @description How many seconds to wait before asking about the job. */
                    readonly "retry-after"?: string;
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Job"];
                };
            };
        };
    };
    readonly showUndo: {
        readonly parameters: {
            readonly query?: {
                /** @description Counts the rows of each table, now and after an undo, which takes a while. */
                readonly rows?: boolean;
            };
            readonly header?: never;
            readonly path: {
                /** @description The name of a project or of a stage. */
                readonly slug: components["schemas"]["Slug"];
                /** @description The name of a project or of a stage. */
                readonly stage: components["schemas"]["Slug"];
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description What is kept of what was replaced. */
            readonly 200: {
                headers: {
                    readonly "X-Request-Id": components["headers"]["X-Request-Id"];
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": {
                        /** @description null where there is nothing to undo. */
                        readonly kept: {
                            /**
                             * Format: date-time
                             * @description When an import, a transfer or an undo replaced it.
                             */
                            readonly replacedAt: string;
                            /**
                             * Format: date-time
                             * @description It may be dropped then.
                             */
                            readonly until: string;
                            /** @description The job of the last import or transfer, which an undo takes back, or puts back where it is undone; null where no job did it. */
                            readonly jobId: string | null;
                            /** @description Whether that import is undone: what is kept is then what it had brought, and an undo puts that back. */
                            readonly undone: boolean;
                            /** @description What an undo would change, by table, as the project's own login sees the rows; null where `rows` did not ask for it. */
                            readonly tables: readonly {
                                readonly name: string;
                                /** @description null where the stage does not have the table. */
                                readonly rowsNow: number | null;
                                /** @description null where the table would be gone. */
                                readonly rowsAfter: number | null;
                            }[] | null;
                        } | null;
                    };
                };
            };
        };
    };
    readonly undoImport: {
        readonly parameters: {
            readonly query?: {
                /** @description Also where the stage was written to since: those writes are given up. */
                readonly force?: boolean;
            };
            readonly header?: never;
            readonly path: {
                /** @description The name of a project or of a stage. */
                readonly slug: components["schemas"]["Slug"];
                /** @description The name of a project or of a stage. */
                readonly stage: components["schemas"]["Slug"];
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description What was replaced is back. */
            readonly 200: {
                headers: {
                    readonly "X-Request-Id": components["headers"]["X-Request-Id"];
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": {
                        /** @constant */
                        readonly ok: true;
                        /**
                         * Format: date-time
                         * @description When the contents that are back now were replaced.
                         */
                        readonly replacedAt: string;
                        readonly tables: readonly {
                            readonly name: string;
                            readonly rows: number;
                        }[];
                    };
                };
            };
        };
    };
    readonly discardReplaced: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /** @description The name of a project or of a stage. */
                readonly slug: components["schemas"]["Slug"];
                /** @description The name of a project or of a stage. */
                readonly stage: components["schemas"]["Slug"];
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description Nothing is kept of what was replaced. */
            readonly 204: {
                headers: {
                    readonly "X-Request-Id": components["headers"]["X-Request-Id"];
                    readonly [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    readonly createUpload: {
        readonly parameters: {
            readonly query?: never;
            readonly header: {
                /** @description How many bytes will come. */
                readonly "upload-length": string;
                /** @description The version of the protocol that the client speaks: `1.0.0`. */
                readonly "tus-resumable"?: string;
            };
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The upload, of which nothing is there yet. */
            readonly 201: {
                headers: {
                    readonly "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description Always `1.0.0`. */
                    readonly "tus-resumable"?: string;
                    /** @description Always `1.0.0`. */
                    readonly "tus-version"?: string;
                    /** @description When the upload goes, unless more is sent or it is used before. */
                    readonly "upload-expires"?: string;
                    /** @description Path of the upload. */
                    readonly location?: string;
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Upload"];
                };
            };
        };
    };
    readonly showUpload: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: {
                /** @description The version of the protocol that the client speaks: `1.0.0`. */
                readonly "tus-resumable"?: string;
            };
            readonly path: {
                readonly id: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The upload. */
            readonly 200: {
                headers: {
                    readonly "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description Always `1.0.0`. */
                    readonly "tus-resumable"?: string;
                    /** @description Always `1.0.0`. */
                    readonly "tus-version"?: string;
                    /** @description When the upload goes, unless more is sent or it is used before. */
                    readonly "upload-expires"?: string;
                    /** @description How many bytes are there. */
                    readonly "upload-offset"?: string;
                    /** @description How many bytes it has once it is whole. */
                    readonly "upload-length"?: string;
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Upload"];
                };
            };
        };
    };
    readonly deleteUpload: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: {
                /** @description The version of the protocol that the client speaks: `1.0.0`. */
                readonly "tus-resumable"?: string;
            };
            readonly path: {
                readonly id: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description It is gone. */
            readonly 204: {
                headers: {
                    readonly "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description Always `1.0.0`. */
                    readonly "tus-resumable"?: string;
                    /** @description Always `1.0.0`. */
                    readonly "tus-version"?: string;
                    readonly [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    readonly sendUpload: {
        readonly parameters: {
            readonly query?: never;
            readonly header: {
                /** @description Where they begin: as many as are there. */
                readonly "upload-offset": string;
                /** @description The version of the protocol that the client speaks: `1.0.0`. */
                readonly "tus-resumable"?: string;
            };
            readonly path: {
                readonly id: string;
            };
            readonly cookie?: never;
        };
        /** @description The bytes, as many as are at hand. */
        readonly requestBody: {
            readonly content: {
                readonly "application/offset+octet-stream": string;
            };
        };
        readonly responses: {
            /** @description They are there. */
            readonly 204: {
                headers: {
                    readonly "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description Always `1.0.0`. */
                    readonly "tus-resumable"?: string;
                    /** @description Always `1.0.0`. */
                    readonly "tus-version"?: string;
                    /** @description When the upload goes, unless more is sent or it is used before. */
                    readonly "upload-expires"?: string;
                    /** @description How many bytes are there. */
                    readonly "upload-offset"?: string;
                    readonly [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    readonly importUpload: {
        readonly parameters: {
            readonly query?: {
                /** @description Where the data goes, for one project. */
                readonly targetSlug?: components["schemas"]["Slug"];
                /** @description Imports this project of the archive, and none of the others, of which nothing is checked. Faults count the lines of this project alone, as if the others had none. */
                readonly project?: components["schemas"]["Slug"];
                /** @description Does all the checks, and answers with what would happen. */
                readonly dryRun?: boolean;
                /** @description Accepts an archive whose rows were edited: counts and sums may disagree. */
                readonly allowEdited?: boolean;
                /** @description Accepts an archive that lacks rows of what it was made from. By default that is refused. */
                readonly allowIncomplete?: boolean;
                /** @description How many sessions load one stage side by side, at most. By default one more than the server has processors, up to 4. One does where connections are needed for others (`WHARF_HELPING_SESSIONS`), for small archives, in a database of your own, and where the order of the tables can matter. The rows are the same for any number. */
                readonly jobs?: number;
            };
            readonly header?: {
                /** @description `respond-async` asks for a job instead of the result. */
                readonly prefer?: string;
                /** @description The same key within 24 hours gives the same job, however often the request is sent. */
                readonly "idempotency-key"?: string;
            };
            readonly path: {
                readonly id: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The archive has been imported; or could be, where `dryRun` was asked for. */
            readonly 200: {
                headers: {
                    readonly "X-Request-Id": components["headers"]["X-Request-Id"];
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": {
                        /** @constant */
                        readonly ok: true;
                        readonly dryRun: boolean;
                        readonly projects: readonly {
                            /** @description Where the data came from. */
                            readonly slug: components["schemas"]["Slug"];
                            /** @description Where it went. */
                            readonly targetSlug: components["schemas"]["Slug"];
                            /** @description How many roles of the archive replaced those of the target, as the event log did; null where the archive has no system section, which leaves both as they are. */
                            readonly roles: number | null;
                            /** @description How the roles of the target differ from those of the archive. An import gives and takes only permissions that its caller has in the target, and leaves the role `public` alone; the root token may do all. */
                            readonly rolesLeftOut: readonly {
                                readonly role: string;
                                /** @description Permissions that the role has in the archive, and does not get. */
                                readonly notGiven: readonly ("content.read" | "content.write" | "content.export" | "content.import" | "content.structure" | "system.export" | "system.import")[];
                                /** @description Permissions that the role has in the target and not in the archive, and keeps. */
                                readonly notTaken: readonly ("content.read" | "content.write" | "content.export" | "content.import" | "content.structure" | "system.export" | "system.import")[];
                            }[];
                            readonly stages: readonly ({
                                readonly slug: components["schemas"]["Slug"];
                                readonly tables: number;
                                readonly rows: number;
                                /** @description Whether what is replaced is kept, so that `undo` can bring it back. It is not where the stage is loaded in place, or where the operator has turned that off. */
                                readonly undoable: boolean;
                                /** @description Rights and policies of the archive that the stage does not get, for instance since their role does not exist there. */
                                readonly leftOut: readonly {
                                    /** @enum {string} */
                                    readonly kind: "grant" | "policy";
                                    readonly name: string;
                                    readonly detail: string;
                                }[];
                                /** @description What keeps its rows in a stage that is loaded in place, since no archive can hold them: for instance partitions in another schema. */
                                readonly notReplaced: readonly {
                                    readonly kind: string;
                                    readonly name: string;
                                    readonly detail?: string;
                                }[];
                                /**
                                 * Format: date-time
                                 * @description In the result of a job: when that was undone. Missing where it was not, or is put back.
                                 */
                                readonly undoneAt?: string;
                            } | {
                                readonly slug: components["schemas"]["Slug"];
                                /**
                                 * @description `build`: the stage is empty and would be built from the archive. `swap`: the rows would be loaded beside, and then replace the existing ones. `in place`: the stage has things that an archive does not describe, so its tables would be emptied and loaded where they are.
                                 * @enum {string}
                                 */
                                readonly mode: "build" | "swap" | "in place";
                                /** @description Why it would be loaded in place: what depends on it elsewhere, for instance. */
                                readonly reasonsInPlace: readonly string[];
                                /** @description Whether what is replaced is kept, so that `undo` can bring it back. It is not where the stage is loaded in place, or where the operator has turned that off. */
                                readonly undoable: boolean;
                                /** @description For how many hours what would be replaced is kept; 0 where it is not. */
                                readonly undoHours: number;
                                /** @description Rights and policies of the archive that the stage does not get, for instance since their role does not exist there. */
                                readonly leftOut: readonly {
                                    /** @enum {string} */
                                    readonly kind: "grant" | "policy";
                                    readonly name: string;
                                    readonly detail: string;
                                }[];
                                /** @description What keeps its rows in a stage that is loaded in place, since no archive can hold them: for instance partitions in another schema. */
                                readonly notReplaced: readonly {
                                    readonly kind: string;
                                    readonly name: string;
                                    readonly detail?: string;
                                }[];
                                readonly tables: readonly {
                                    readonly name: string;
                                    /** @description As the project's own login sees them; null where the table would be created. */
                                    readonly rowsNow: number | null;
                                    readonly rowsAfter: number;
                                }[];
                                /** @description Those that a stage which is built from the archive needs. */
                                readonly extensions: readonly {
                                    readonly name: string;
                                    /** @description Where the archive was made. Another one is no reason to refuse it. */
                                    readonly version: string;
                                    /** @description null where it would be made, for all projects. */
                                    readonly versionNow: string | null;
                                }[];
                            })[];
                        }[];
                        /** @description Whether the archive has all that its stages had, but for tables that were excluded; null where that is not known, since an earlier version wrote it. */
                        readonly complete: boolean | null;
                        readonly notExported: readonly {
                            /** @description Its slug, where the archive has several projects. */
                            readonly project?: string;
                            readonly stage: string;
                            readonly kind: string;
                            readonly name: string;
                            readonly detail?: string;
                            /** @description `true` where rows are missing for lack of it. */
                            readonly rows?: boolean;
                        }[];
                    };
                };
            };
            /** @description The job, which goes on by itself. */
            readonly 202: {
                headers: {
                    readonly "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description Path of the job. */
                    readonly location?: string;
                    /** @description `respond-async`, where it was asked for. */
                    readonly "preference-applied"?: string;
                    /** @description How many seconds to wait before asking about the job. */
                    readonly "retry-after"?: string;
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Job"];
                };
            };
        };
    };
    readonly getStage: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: {
                /** @description The reference that came with the last answer; answered with 304 while it is current. */
                readonly "x-service-ref"?: string;
                /** @description The same as an entity tag. */
                readonly "if-none-match"?: string;
                /** @description The first and the last row. */
                readonly range?: string;
                /** @description `count=exact`, `count=planned` or `count=estimated`; `timezone=…`; `handling=strict` or `handling=lenient`. */
                readonly prefer?: string;
                /** @description The stage of the address, or `public`; another schema is refused. */
                readonly "accept-profile"?: string;
            };
            readonly path: {
                /** @description The name of a project or of a stage. */
                readonly project: components["schemas"]["Slug"];
                /** @description The name of a project or of a stage. */
                readonly stage: components["schemas"]["Slug"];
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The stage as it is now. */
            readonly 200: {
                headers: {
                    readonly "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description The UUID of the latest event of the stage, to be sent with the next request. */
                    readonly "x-service-ref"?: string;
                    /** @description The same as an entity tag. */
                    readonly etag?: string;
                    /** @description The headers of the request that the answer depends on. */
                    readonly vary?: string;
                    /** @description `hit` where the answer was in the cache for this reference, otherwise `miss`. */
                    readonly "x-cache"?: string;
                    /** @description `gzip` where the client accepts it and the answer is shorter with it. */
                    readonly "content-encoding"?: string;
                    /** @description Which rows these are, and how many there are in all: `0-19/120`, or `0-19/*` where the total was not asked for. */
                    readonly "content-range"?: string;
                    /** @description The preferences that were applied. */
                    readonly "preference-applied"?: string;
                    /** @description Path and query of these rows, its parameters in one order; missing where it is long. */
                    readonly "content-location"?: string;
                    /** @description What `Accept-Profile` named. */
                    readonly "content-profile"?: string;
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["StageOverview"];
                };
            };
            /** @description The client has the current version. */
            readonly 304: {
                headers: {
                    readonly "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description The UUID of the latest event of the stage, to be sent with the next request. */
                    readonly "x-service-ref"?: string;
                    /** @description The same as an entity tag. */
                    readonly etag?: string;
                    /** @description The headers of the request that the answer depends on. */
                    readonly vary?: string;
                    readonly [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    readonly getRows: {
        readonly parameters: {
            readonly query?: {
                /** @description Columns, renamed or cast, and rows of related tables. */
                readonly select?: string;
                /** @description Columns by which the rows are ordered. */
                readonly order?: string;
                /** @description The maximum number of rows. */
                readonly limit?: string;
                /** @description How many rows to skip. */
                readonly offset?: string;
                /** @description One of these filters; any other parameter is a filter on the column of its name. */
                readonly or?: string;
            };
            readonly header?: {
                /** @description The reference that came with the last answer; answered with 304 while it is current. */
                readonly "x-service-ref"?: string;
                /** @description The same as an entity tag. */
                readonly "if-none-match"?: string;
                /** @description The first and the last row. */
                readonly range?: string;
                /** @description `count=exact`, `count=planned` or `count=estimated`; `timezone=…`; `handling=strict` or `handling=lenient`. */
                readonly prefer?: string;
                /** @description The stage of the address, or `public`; another schema is refused. */
                readonly "accept-profile"?: string;
            };
            readonly path: {
                /** @description The name of a project or of a stage. */
                readonly project: components["schemas"]["Slug"];
                /** @description The name of a project or of a stage. */
                readonly stage: components["schemas"]["Slug"];
                readonly table: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The rows. */
            readonly 200: {
                headers: {
                    readonly "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description The UUID of the latest event of the stage, to be sent with the next request. */
                    readonly "x-service-ref"?: string;
                    /** @description The same as an entity tag. */
                    readonly etag?: string;
                    /** @description The headers of the request that the answer depends on. */
                    readonly vary?: string;
                    /** @description `hit` where the answer was in the cache for this reference, otherwise `miss`. */
                    readonly "x-cache"?: string;
                    /** @description `gzip` where the client accepts it and the answer is shorter with it. */
                    readonly "content-encoding"?: string;
                    /** @description Which rows these are, and how many there are in all: `0-19/120`, or `0-19/*` where the total was not asked for. */
                    readonly "content-range"?: string;
                    /** @description The preferences that were applied. */
                    readonly "preference-applied"?: string;
                    /** @description Path and query of these rows, its parameters in one order; missing where it is long. */
                    readonly "content-location"?: string;
                    /** @description What `Accept-Profile` named. */
                    readonly "content-profile"?: string;
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": readonly unknown[] | {
                        readonly [key: string]: unknown;
                    };
                    readonly "application/vnd.pgrst.array+json": readonly unknown[] | {
                        readonly [key: string]: unknown;
                    };
                    readonly "application/vnd.pgrst.object+json": readonly unknown[] | {
                        readonly [key: string]: unknown;
                    };
                    readonly "text/csv": string;
                    readonly "application/geo+json": readonly unknown[] | {
                        readonly [key: string]: unknown;
                    };
                    readonly "*/*": string;
                };
            };
            /** @description Some of the rows. */
            readonly 206: {
                headers: {
                    readonly "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description The UUID of the latest event of the stage, to be sent with the next request. */
                    readonly "x-service-ref"?: string;
                    /** @description The same as an entity tag. */
                    readonly etag?: string;
                    /** @description The headers of the request that the answer depends on. */
                    readonly vary?: string;
                    /** @description `hit` where the answer was in the cache for this reference, otherwise `miss`. */
                    readonly "x-cache"?: string;
                    /** @description `gzip` where the client accepts it and the answer is shorter with it. */
                    readonly "content-encoding"?: string;
                    /** @description Which rows these are, and how many there are in all: `0-19/120`, or `0-19/*` where the total was not asked for. */
                    readonly "content-range"?: string;
                    /** @description The preferences that were applied. */
                    readonly "preference-applied"?: string;
                    /** @description Path and query of these rows, its parameters in one order; missing where it is long. */
                    readonly "content-location"?: string;
                    /** @description What `Accept-Profile` named. */
                    readonly "content-profile"?: string;
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": readonly unknown[] | {
                        readonly [key: string]: unknown;
                    };
                    readonly "application/vnd.pgrst.array+json": readonly unknown[] | {
                        readonly [key: string]: unknown;
                    };
                    readonly "application/vnd.pgrst.object+json": readonly unknown[] | {
                        readonly [key: string]: unknown;
                    };
                    readonly "text/csv": string;
                    readonly "application/geo+json": readonly unknown[] | {
                        readonly [key: string]: unknown;
                    };
                    readonly "*/*": string;
                };
            };
            /** @description Relation is ambiguous */
            readonly 300: {
                headers: {
                    readonly "X-Request-Id": components["headers"]["X-Request-Id"];
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"] & {
                        /** @enum {unknown} */
                        readonly type?: "urn:wharf:error:ambiguous-relation";
                    };
                };
            };
            /** @description The client has the current version. */
            readonly 304: {
                headers: {
                    readonly "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description The UUID of the latest event of the stage, to be sent with the next request. */
                    readonly "x-service-ref"?: string;
                    /** @description The same as an entity tag. */
                    readonly etag?: string;
                    /** @description The headers of the request that the answer depends on. */
                    readonly vary?: string;
                    readonly [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    readonly putRow: {
        readonly parameters: {
            readonly query?: {
                /** @description What the answer shows of the rows written. */
                readonly select?: string;
                /** @description Which columns of the body are written; the others are left out. */
                readonly columns?: string;
                /** @description Columns of the key that decides whether a row exists already. */
                readonly on_conflict?: string;
            };
            readonly header?: {
                /** @description `return=representation`, `return=headers-only` or `return=minimal`; `missing=default`; `resolution=merge-duplicates` or `resolution=ignore-duplicates`; `count=exact`; `tx=rollback`; `max-affected=…`; `timezone=…`; `handling=…`. */
                readonly prefer?: string;
                /** @description The stage of the address, or `public`; another schema is refused. */
                readonly "content-profile"?: string;
            };
            readonly path: {
                /** @description The name of a project or of a stage. */
                readonly project: components["schemas"]["Slug"];
                /** @description The name of a project or of a stage. */
                readonly stage: components["schemas"]["Slug"];
                readonly table: string;
            };
            readonly cookie?: never;
        };
        /** @description One row as an object, or an array of them; rows as CSV whose first line names the columns; or one row as a form. */
        readonly requestBody: {
            readonly content: {
                readonly "application/json": string;
                readonly "text/csv": string;
                readonly "application/x-www-form-urlencoded": string;
            };
        };
        readonly responses: {
            /** @description The rows that were written. */
            readonly 200: {
                headers: {
                    readonly "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description The event that the write caused; missing where it changed nothing. */
                    readonly "x-service-ref"?: string;
                    /** @description How many rows were written, with `Prefer: count=exact`. */
                    readonly "content-range"?: string;
                    /** @description The preferences that were applied. */
                    readonly "preference-applied"?: string;
                    /** @description What `Content-Profile` named. */
                    readonly "content-profile"?: string;
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": readonly unknown[] | {
                        readonly [key: string]: unknown;
                    };
                    readonly "application/vnd.pgrst.array+json": readonly unknown[] | {
                        readonly [key: string]: unknown;
                    };
                    readonly "application/vnd.pgrst.object+json": readonly unknown[] | {
                        readonly [key: string]: unknown;
                    };
                    readonly "text/csv": string;
                    readonly "application/geo+json": readonly unknown[] | {
                        readonly [key: string]: unknown;
                    };
                };
            };
            /** @description The row is new. */
            readonly 201: {
                headers: {
                    readonly "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description The event that the write caused; missing where it changed nothing. */
                    readonly "x-service-ref"?: string;
                    /** @description How many rows were written, with `Prefer: count=exact`. */
                    readonly "content-range"?: string;
                    /** @description The preferences that were applied. */
                    readonly "preference-applied"?: string;
                    /** @description What `Content-Profile` named. */
                    readonly "content-profile"?: string;
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": readonly unknown[] | {
                        readonly [key: string]: unknown;
                    };
                    readonly "application/vnd.pgrst.array+json": readonly unknown[] | {
                        readonly [key: string]: unknown;
                    };
                    readonly "application/vnd.pgrst.object+json": readonly unknown[] | {
                        readonly [key: string]: unknown;
                    };
                    readonly "text/csv": string;
                    readonly "application/geo+json": readonly unknown[] | {
                        readonly [key: string]: unknown;
                    };
                };
            };
            /** @description Done; `Prefer: return=representation` shows the rows. */
            readonly 204: {
                headers: {
                    readonly "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description The event that the write caused; missing where it changed nothing. */
                    readonly "x-service-ref"?: string;
                    /** @description How many rows were written, with `Prefer: count=exact`. */
                    readonly "content-range"?: string;
                    /** @description The preferences that were applied. */
                    readonly "preference-applied"?: string;
                    /** @description What `Content-Profile` named. */
                    readonly "content-profile"?: string;
                    readonly [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Relation is ambiguous */
            readonly 300: {
                headers: {
                    readonly "X-Request-Id": components["headers"]["X-Request-Id"];
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"] & {
                        /** @enum {unknown} */
                        readonly type?: "urn:wharf:error:ambiguous-relation";
                    };
                };
            };
        };
    };
    readonly insertRows: {
        readonly parameters: {
            readonly query?: {
                /** @description What the answer shows of the rows written. */
                readonly select?: string;
                /** @description Which columns of the body are written; the others are left out. */
                readonly columns?: string;
                /** @description Columns of the key that decides whether a row exists already. */
                readonly on_conflict?: string;
            };
            readonly header?: {
                /** @description `return=representation`, `return=headers-only` or `return=minimal`; `missing=default`; `resolution=merge-duplicates` or `resolution=ignore-duplicates`; `count=exact`; `tx=rollback`; `max-affected=…`; `timezone=…`; `handling=…`. */
                readonly prefer?: string;
                /** @description The stage of the address, or `public`; another schema is refused. */
                readonly "content-profile"?: string;
            };
            readonly path: {
                /** @description The name of a project or of a stage. */
                readonly project: components["schemas"]["Slug"];
                /** @description The name of a project or of a stage. */
                readonly stage: components["schemas"]["Slug"];
                readonly table: string;
            };
            readonly cookie?: never;
        };
        /** @description One row as an object, or an array of them; rows as CSV whose first line names the columns; or one row as a form. */
        readonly requestBody: {
            readonly content: {
                readonly "application/json": string;
                readonly "text/csv": string;
                readonly "application/x-www-form-urlencoded": string;
            };
        };
        readonly responses: {
            /** @description With `Prefer: resolution=merge-duplicates`, no row is new: those that were there were changed. */
            readonly 200: {
                headers: {
                    readonly "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description The event that the write caused; missing where it changed nothing. */
                    readonly "x-service-ref"?: string;
                    /** @description How many rows were written, with `Prefer: count=exact`. */
                    readonly "content-range"?: string;
                    /** @description The preferences that were applied. */
                    readonly "preference-applied"?: string;
                    /** @description What `Content-Profile` named. */
                    readonly "content-profile"?: string;
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": readonly unknown[] | {
                        readonly [key: string]: unknown;
                    };
                    readonly "application/vnd.pgrst.array+json": readonly unknown[] | {
                        readonly [key: string]: unknown;
                    };
                    readonly "application/vnd.pgrst.object+json": readonly unknown[] | {
                        readonly [key: string]: unknown;
                    };
                    readonly "text/csv": string;
                    readonly "application/geo+json": readonly unknown[] | {
                        readonly [key: string]: unknown;
                    };
                };
            };
            /** @description The rows were inserted; the body has them where that was asked for. */
            readonly 201: {
                headers: {
                    readonly "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description The event that the write caused; missing where it changed nothing. */
                    readonly "x-service-ref"?: string;
                    /** @description How many rows were written, with `Prefer: count=exact`. */
                    readonly "content-range"?: string;
                    /** @description The preferences that were applied. */
                    readonly "preference-applied"?: string;
                    /** @description What `Content-Profile` named. */
                    readonly "content-profile"?: string;
                    /** @description Path of the inserted row, with `Prefer: return=headers-only`. */
                    readonly location?: string;
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": readonly unknown[] | {
                        readonly [key: string]: unknown;
                    };
                    readonly "application/vnd.pgrst.array+json": readonly unknown[] | {
                        readonly [key: string]: unknown;
                    };
                    readonly "application/vnd.pgrst.object+json": readonly unknown[] | {
                        readonly [key: string]: unknown;
                    };
                    readonly "text/csv": string;
                    readonly "application/geo+json": readonly unknown[] | {
                        readonly [key: string]: unknown;
                    };
                };
            };
            /** @description Relation is ambiguous */
            readonly 300: {
                headers: {
                    readonly "X-Request-Id": components["headers"]["X-Request-Id"];
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"] & {
                        /** @enum {unknown} */
                        readonly type?: "urn:wharf:error:ambiguous-relation";
                    };
                };
            };
        };
    };
    readonly deleteRows: {
        readonly parameters: {
            readonly query?: {
                /** @description What the answer shows of the rows written. */
                readonly select?: string;
                /** @description Which columns of the body are written; the others are left out. */
                readonly columns?: string;
                /** @description Columns of the key that decides whether a row exists already. */
                readonly on_conflict?: string;
            };
            readonly header?: {
                /** @description `return=representation`, `return=headers-only` or `return=minimal`; `missing=default`; `resolution=merge-duplicates` or `resolution=ignore-duplicates`; `count=exact`; `tx=rollback`; `max-affected=…`; `timezone=…`; `handling=…`. */
                readonly prefer?: string;
                /** @description The stage of the address, or `public`; another schema is refused. */
                readonly "content-profile"?: string;
            };
            readonly path: {
                /** @description The name of a project or of a stage. */
                readonly project: components["schemas"]["Slug"];
                /** @description The name of a project or of a stage. */
                readonly stage: components["schemas"]["Slug"];
                readonly table: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The rows that were written. */
            readonly 200: {
                headers: {
                    readonly "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description The event that the write caused; missing where it changed nothing. */
                    readonly "x-service-ref"?: string;
                    /** @description How many rows were written, with `Prefer: count=exact`. */
                    readonly "content-range"?: string;
                    /** @description The preferences that were applied. */
                    readonly "preference-applied"?: string;
                    /** @description What `Content-Profile` named. */
                    readonly "content-profile"?: string;
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": readonly unknown[] | {
                        readonly [key: string]: unknown;
                    };
                    readonly "application/vnd.pgrst.array+json": readonly unknown[] | {
                        readonly [key: string]: unknown;
                    };
                    readonly "application/vnd.pgrst.object+json": readonly unknown[] | {
                        readonly [key: string]: unknown;
                    };
                    readonly "text/csv": string;
                    readonly "application/geo+json": readonly unknown[] | {
                        readonly [key: string]: unknown;
                    };
                };
            };
            /** @description Done; `Prefer: return=representation` shows the rows. */
            readonly 204: {
                headers: {
                    readonly "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description The event that the write caused; missing where it changed nothing. */
                    readonly "x-service-ref"?: string;
                    /** @description How many rows were written, with `Prefer: count=exact`. */
                    readonly "content-range"?: string;
                    /** @description The preferences that were applied. */
                    readonly "preference-applied"?: string;
                    /** @description What `Content-Profile` named. */
                    readonly "content-profile"?: string;
                    readonly [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Relation is ambiguous */
            readonly 300: {
                headers: {
                    readonly "X-Request-Id": components["headers"]["X-Request-Id"];
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"] & {
                        /** @enum {unknown} */
                        readonly type?: "urn:wharf:error:ambiguous-relation";
                    };
                };
            };
        };
    };
    readonly updateRows: {
        readonly parameters: {
            readonly query?: {
                /** @description What the answer shows of the rows written. */
                readonly select?: string;
                /** @description Which columns of the body are written; the others are left out. */
                readonly columns?: string;
                /** @description Columns of the key that decides whether a row exists already. */
                readonly on_conflict?: string;
            };
            readonly header?: {
                /** @description `return=representation`, `return=headers-only` or `return=minimal`; `missing=default`; `resolution=merge-duplicates` or `resolution=ignore-duplicates`; `count=exact`; `tx=rollback`; `max-affected=…`; `timezone=…`; `handling=…`. */
                readonly prefer?: string;
                /** @description The stage of the address, or `public`; another schema is refused. */
                readonly "content-profile"?: string;
            };
            readonly path: {
                /** @description The name of a project or of a stage. */
                readonly project: components["schemas"]["Slug"];
                /** @description The name of a project or of a stage. */
                readonly stage: components["schemas"]["Slug"];
                readonly table: string;
            };
            readonly cookie?: never;
        };
        /** @description One row as an object, or an array of them; rows as CSV whose first line names the columns; or one row as a form. */
        readonly requestBody: {
            readonly content: {
                readonly "application/json": string;
                readonly "text/csv": string;
                readonly "application/x-www-form-urlencoded": string;
            };
        };
        readonly responses: {
            /** @description The rows that were written. */
            readonly 200: {
                headers: {
                    readonly "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description The event that the write caused; missing where it changed nothing. */
                    readonly "x-service-ref"?: string;
                    /** @description How many rows were written, with `Prefer: count=exact`. */
                    readonly "content-range"?: string;
                    /** @description The preferences that were applied. */
                    readonly "preference-applied"?: string;
                    /** @description What `Content-Profile` named. */
                    readonly "content-profile"?: string;
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": readonly unknown[] | {
                        readonly [key: string]: unknown;
                    };
                    readonly "application/vnd.pgrst.array+json": readonly unknown[] | {
                        readonly [key: string]: unknown;
                    };
                    readonly "application/vnd.pgrst.object+json": readonly unknown[] | {
                        readonly [key: string]: unknown;
                    };
                    readonly "text/csv": string;
                    readonly "application/geo+json": readonly unknown[] | {
                        readonly [key: string]: unknown;
                    };
                };
            };
            /** @description Done; `Prefer: return=representation` shows the rows. */
            readonly 204: {
                headers: {
                    readonly "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description The event that the write caused; missing where it changed nothing. */
                    readonly "x-service-ref"?: string;
                    /** @description How many rows were written, with `Prefer: count=exact`. */
                    readonly "content-range"?: string;
                    /** @description The preferences that were applied. */
                    readonly "preference-applied"?: string;
                    /** @description What `Content-Profile` named. */
                    readonly "content-profile"?: string;
                    readonly [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Relation is ambiguous */
            readonly 300: {
                headers: {
                    readonly "X-Request-Id": components["headers"]["X-Request-Id"];
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"] & {
                        /** @enum {unknown} */
                        readonly type?: "urn:wharf:error:ambiguous-relation";
                    };
                };
            };
        };
    };
    readonly readFunction: {
        readonly parameters: {
            readonly query?: {
                /** @description Columns, renamed or cast, and rows of related tables. */
                readonly select?: string;
                /** @description Columns by which the rows are ordered. */
                readonly order?: string;
                /** @description The maximum number of rows. */
                readonly limit?: string;
                /** @description How many rows to skip. */
                readonly offset?: string;
                /** @description One of these filters; any other parameter is a filter on the column of its name. */
                readonly or?: string;
            };
            readonly header?: {
                /** @description The reference that came with the last answer; answered with 304 while it is current. */
                readonly "x-service-ref"?: string;
                /** @description The same as an entity tag. */
                readonly "if-none-match"?: string;
                /** @description The first and the last row. */
                readonly range?: string;
                /** @description `count=exact`, `count=planned` or `count=estimated`; `timezone=…`; `handling=strict` or `handling=lenient`. */
                readonly prefer?: string;
                /** @description The stage of the address, or `public`; another schema is refused. */
                readonly "accept-profile"?: string;
            };
            readonly path: {
                /** @description The name of a project or of a stage. */
                readonly project: components["schemas"]["Slug"];
                /** @description The name of a project or of a stage. */
                readonly stage: components["schemas"]["Slug"];
                readonly function: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description What the function returned. */
            readonly 200: {
                headers: {
                    readonly "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description The UUID of the latest event of the stage, to be sent with the next request. */
                    readonly "x-service-ref"?: string;
                    /** @description The same as an entity tag. */
                    readonly etag?: string;
                    /** @description The headers of the request that the answer depends on. */
                    readonly vary?: string;
                    /** @description `hit` where the answer was in the cache for this reference, otherwise `miss`. */
                    readonly "x-cache"?: string;
                    /** @description `gzip` where the client accepts it and the answer is shorter with it. */
                    readonly "content-encoding"?: string;
                    /** @description Which rows these are, and how many there are in all: `0-19/120`, or `0-19/*` where the total was not asked for. */
                    readonly "content-range"?: string;
                    /** @description The preferences that were applied. */
                    readonly "preference-applied"?: string;
                    /** @description Path and query of these rows, its parameters in one order; missing where it is long. */
                    readonly "content-location"?: string;
                    /** @description What `Accept-Profile` named. */
                    readonly "content-profile"?: string;
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": unknown;
                    readonly "application/vnd.pgrst.array+json": unknown;
                    readonly "application/vnd.pgrst.object+json": unknown;
                    readonly "text/csv": string;
                    readonly "application/geo+json": unknown;
                    readonly "text/plain": string;
                    readonly "text/xml": string;
                    readonly "application/octet-stream": string;
                    readonly "*/*": string;
                };
            };
            /** @description The function returns nothing. */
            readonly 204: {
                headers: {
                    readonly "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description The UUID of the latest event of the stage, to be sent with the next request. */
                    readonly "x-service-ref"?: string;
                    /** @description The same as an entity tag. */
                    readonly etag?: string;
                    /** @description The headers of the request that the answer depends on. */
                    readonly vary?: string;
                    readonly [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Some of it. */
            readonly 206: {
                headers: {
                    readonly "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description The UUID of the latest event of the stage, to be sent with the next request. */
                    readonly "x-service-ref"?: string;
                    /** @description The same as an entity tag. */
                    readonly etag?: string;
                    /** @description The headers of the request that the answer depends on. */
                    readonly vary?: string;
                    /** @description `hit` where the answer was in the cache for this reference, otherwise `miss`. */
                    readonly "x-cache"?: string;
                    /** @description `gzip` where the client accepts it and the answer is shorter with it. */
                    readonly "content-encoding"?: string;
                    /** @description Which rows these are, and how many there are in all: `0-19/120`, or `0-19/*` where the total was not asked for. */
                    readonly "content-range"?: string;
                    /** @description The preferences that were applied. */
                    readonly "preference-applied"?: string;
                    /** @description Path and query of these rows, its parameters in one order; missing where it is long. */
                    readonly "content-location"?: string;
                    /** @description What `Accept-Profile` named. */
                    readonly "content-profile"?: string;
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": unknown;
                    readonly "application/vnd.pgrst.array+json": unknown;
                    readonly "application/vnd.pgrst.object+json": unknown;
                    readonly "text/csv": string;
                    readonly "application/geo+json": unknown;
                    readonly "text/plain": string;
                    readonly "text/xml": string;
                    readonly "application/octet-stream": string;
                    readonly "*/*": string;
                };
            };
            /** @description Function is ambiguous */
            readonly 300: {
                headers: {
                    readonly "X-Request-Id": components["headers"]["X-Request-Id"];
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"] & {
                        /** @enum {unknown} */
                        readonly type?: "urn:wharf:error:ambiguous-function";
                    };
                };
            };
            /** @description The client has the current version; of functions that are IMMUTABLE. */
            readonly 304: {
                headers: {
                    readonly "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description The UUID of the latest event of the stage, to be sent with the next request. */
                    readonly "x-service-ref"?: string;
                    /** @description The same as an entity tag. */
                    readonly etag?: string;
                    /** @description The headers of the request that the answer depends on. */
                    readonly vary?: string;
                    readonly [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    readonly callFunction: {
        readonly parameters: {
            readonly query?: {
                /** @description Columns, renamed or cast, and rows of related tables. */
                readonly select?: string;
                /** @description Columns by which the rows are ordered. */
                readonly order?: string;
                /** @description The maximum number of rows. */
                readonly limit?: string;
                /** @description How many rows to skip. */
                readonly offset?: string;
                /** @description One of these filters; any other parameter is a filter on the column of its name. */
                readonly or?: string;
            };
            readonly header?: {
                /** @description `count=exact`; `tx=rollback`; `max-affected=…`; `timezone=…`; `handling=…`. */
                readonly prefer?: string;
                /** @description The stage of the address, or `public`; another schema is refused. */
                readonly "content-profile"?: string;
            };
            readonly path: {
                /** @description The name of a project or of a stage. */
                readonly project: components["schemas"]["Slug"];
                /** @description The name of a project or of a stage. */
                readonly stage: components["schemas"]["Slug"];
                readonly function: string;
            };
            readonly cookie?: never;
        };
        /** @description The arguments, as an object, as fields of a form or as a line of CSV; or one argument as a whole. */
        readonly requestBody?: {
            readonly content: {
                readonly "application/json": string;
                readonly "text/csv": string;
                readonly "application/x-www-form-urlencoded": string;
                readonly "text/plain": string;
                readonly "text/xml": string;
                readonly "application/octet-stream": string;
            };
        };
        readonly responses: {
            /** @description What the function returned. */
            readonly 200: {
                headers: {
                    readonly "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description The event that the call caused; missing where it changed nothing in the stage. */
                    readonly "x-service-ref"?: string;
                    /** @description Which results these are, and how many there are in all, with `Prefer: count=exact`. */
                    readonly "content-range"?: string;
                    /** @description The preferences that were applied. */
                    readonly "preference-applied"?: string;
                    /** @description What `Content-Profile` named. */
                    readonly "content-profile"?: string;
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": unknown;
                    readonly "application/vnd.pgrst.array+json": unknown;
                    readonly "application/vnd.pgrst.object+json": unknown;
                    readonly "text/csv": string;
                    readonly "application/geo+json": unknown;
                    readonly "text/plain": string;
                    readonly "text/xml": string;
                    readonly "application/octet-stream": string;
                    readonly "*/*": string;
                };
            };
            /** @description The function returns nothing. */
            readonly 204: {
                headers: {
                    readonly "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description The event that the call caused; missing where it changed nothing in the stage. */
                    readonly "x-service-ref"?: string;
                    /** @description Which results these are, and how many there are in all, with `Prefer: count=exact`. */
                    readonly "content-range"?: string;
                    /** @description The preferences that were applied. */
                    readonly "preference-applied"?: string;
                    /** @description What `Content-Profile` named. */
                    readonly "content-profile"?: string;
                    readonly [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Some of it. */
            readonly 206: {
                headers: {
                    readonly "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description The event that the call caused; missing where it changed nothing in the stage. */
                    readonly "x-service-ref"?: string;
                    /** @description Which results these are, and how many there are in all, with `Prefer: count=exact`. */
                    readonly "content-range"?: string;
                    /** @description The preferences that were applied. */
                    readonly "preference-applied"?: string;
                    /** @description What `Content-Profile` named. */
                    readonly "content-profile"?: string;
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": unknown;
                    readonly "application/vnd.pgrst.array+json": unknown;
                    readonly "application/vnd.pgrst.object+json": unknown;
                    readonly "text/csv": string;
                    readonly "application/geo+json": unknown;
                    readonly "text/plain": string;
                    readonly "text/xml": string;
                    readonly "application/octet-stream": string;
                    readonly "*/*": string;
                };
            };
            /** @description Function is ambiguous */
            readonly 300: {
                headers: {
                    readonly "X-Request-Id": components["headers"]["X-Request-Id"];
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"] & {
                        /** @enum {unknown} */
                        readonly type?: "urn:wharf:error:ambiguous-function";
                    };
                };
            };
        };
    };
    readonly transferProject: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: {
                /** @description The same key within 24 hours gives the same job, however often the request is sent. */
                readonly "idempotency-key"?: string;
            };
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": {
                    /** @description A project of this server, or of another one. */
                    readonly source: {
                        readonly project: components["schemas"]["Slug"];
                    } | {
                        /** @description `wharf://<project>:<TOKEN>@<host>[:port]` */
                        readonly dsn: string;
                    };
                    /** @description A project of this server, or of another one. */
                    readonly target: {
                        readonly project: components["schemas"]["Slug"];
                    } | {
                        /** @description `wharf://<project>:<TOKEN>@<host>[:port]` */
                        readonly dsn: string;
                    };
                    /** @default false */
                    readonly system?: boolean;
                    /** @description Only these stages; all if missing. */
                    readonly stages?: readonly components["schemas"]["Slug"][];
                    readonly excludeTables?: readonly string[];
                    /** @description Whether the archive has the rights of other roles on the stages, which an import gives to those that exist at the target, in place of those that there are. Importing them needs `content.structure`. By default they are named, and left out. */
                    readonly grants?: boolean;
                    /** @description Whether rows may be missing that no archive can hold. By default that is refused. */
                    readonly allowIncomplete?: boolean;
                    /** @description As of an export, where the source is a project of this server, and as of an import, where the target is; another one decides by itself. */
                    readonly jobs?: number;
                    /** @description As of an export, wherever the source is. To another server, the archive is sent no faster than that, either. */
                    readonly maxBytesPerSecond?: number;
                };
            };
        };
        readonly responses: {
            /** @description The job, which goes on by itself. */
            readonly 202: {
                headers: {
                    readonly "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description Path of the job. */
                    readonly location?: string;
                    /** @description `respond-async`, where it was asked for. */
                    readonly "preference-applied"?: string;
                    /** @description How many seconds to wait before asking about the job. */
                    readonly "retry-after"?: string;
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Job"];
                };
            };
        };
    };
    readonly listSchedules: {
        readonly parameters: {
            readonly query?: {
                /** @description How many to answer at most. */
                readonly limit?: number;
                readonly after?: string;
            };
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description A page of schedules. */
            readonly 200: {
                headers: {
                    readonly "X-Request-Id": components["headers"]["X-Request-Id"];
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": {
                        readonly items: readonly components["schemas"]["Schedule"][];
                        /** @description `after` of the next page; null on the last one. */
                        readonly next: string | null;
                    };
                };
            };
        };
    };
    readonly createSchedule: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": {
                    readonly name: string;
                    /**
                     * @description Minute, hour, day of month, month, day of week; seconds may come first; or `@daily` and the like. An hour means the clocks of the time zone: a time that they skip runs at the first moment after it, a time that they show twice runs once.
                     * @example 30 2 * * *
                     * @example @daily
                     */
                    readonly cron: string;
                    /**
                     * @description An IANA name.
                     * @default UTC
                     * @example Europe/Berlin
                     */
                    readonly timezone?: string;
                    /** @default {} */
                    readonly keep?: components["schemas"]["Keep"];
                    /** @default {} */
                    readonly alarms?: components["schemas"]["Alarms"];
                    /** @default null */
                    readonly ping?: {
                        /**
                         * @description It is never shown again.
                         * @example https://hc-ping.com/…
                         */
                        readonly url: string;
                        /**
                         * @description Whether `/start` is asked for when a run begins.
                         * @default false
                         */
                        readonly start?: boolean;
                        /**
                         * @description Whether `/fail` is asked for when a run has failed.
                         * @default false
                         */
                        readonly fail?: boolean;
                    } | null;
                    /**
                     * @description Whether every archive is restored and compared before its run counts as succeeded; only for exports.
                     * @default false
                     */
                    readonly verify?: boolean;
                    /** @default true */
                    readonly enabled?: boolean;
                    /** @constant */
                    readonly kind: "export";
                    readonly request: {
                        /** @default [] */
                        readonly projects?: readonly {
                            readonly slug: components["schemas"]["Slug"];
                            /**
                             * @description Whether the system section (roles and event log) is included.
                             * @default false
                             */
                            readonly system?: boolean;
                            /** @description Where an import of the archive goes, instead of to `slug`. */
                            readonly targetSlug?: components["schemas"]["Slug"];
                            /** @description Only these stages; all where it is missing. */
                            readonly stages?: readonly components["schemas"]["Slug"][];
                            /** @description Tables whose structure and rows are left out. */
                            readonly excludeTables?: readonly string[];
                            /** @description Whether the archive has the rights of other roles on the stages, which an import gives to those that exist at the target, in place of those that there are. Importing them needs `content.structure`. By default they are named, and left out. */
                            readonly grants?: boolean;
                        }[];
                        /** @description Stand, at each run, for all projects whose slugs match and which the token may export. If it is the root token, the run looks at attached servers before, and attaches what is new. */
                        readonly patterns?: readonly {
                            /**
                             * @description `*` stands for any characters of a slug, `?` for a single one.
                             * @example shop-*
                             */
                            readonly pattern: string & (unknown & unknown);
                            /**
                             * @description Whether the system section (roles and event log) is included.
                             * @default false
                             */
                            readonly system?: boolean;
                            /** @description Only these stages; all where it is missing. */
                            readonly stages?: readonly components["schemas"]["Slug"][];
                            /** @description Tables whose structure and rows are left out. */
                            readonly excludeTables?: readonly string[];
                            /** @description Whether the archive has the rights of other roles on the stages, which an import gives to those that exist at the target, in place of those that there are. Importing them needs `content.structure`. By default they are named, and left out. */
                            readonly grants?: boolean;
                        }[];
                        /** @description Whether rows may be missing that no archive can hold. By default that is refused. */
                        readonly allowIncomplete?: boolean;
                        /** @description How many sessions read one database side by side, at most. By default as many as the server has processors, up to 4; one with `maxBytesPerSecond`. Fewer do where connections are needed for others (`WHARF_HELPING_SESSIONS`), and for small databases. The archive is the same for any number, but for its first line. */
                        readonly jobs?: number;
                        /** @description How many bytes of the archive are made in a second, at most, before they are compressed: so that others who use the database are disturbed less. The export takes longer then, and its snapshot lasts longer. By default as many as can be. */
                        readonly maxBytesPerSecond?: number;
                        /**
                         * @description How the archive is compressed. zstd takes less room, where both servers run on a Node.js that has it (22.15 and newer). By default gzip, which is read everywhere; or what the headers ask for, where the archive is the answer.
                         * @enum {string}
                         */
                        readonly compression?: "gzip" | "zstd";
                    };
                } | {
                    readonly name: string;
                    /**
                     * @description Minute, hour, day of month, month, day of week; seconds may come first; or `@daily` and the like. An hour means the clocks of the time zone: a time that they skip runs at the first moment after it, a time that they show twice runs once.
                     * @example 30 2 * * *
                     * @example @daily
                     */
                    readonly cron: string;
                    /**
                     * @description An IANA name.
                     * @default UTC
                     * @example Europe/Berlin
                     */
                    readonly timezone?: string;
                    /** @default {} */
                    readonly keep?: components["schemas"]["Keep"];
                    /** @default {} */
                    readonly alarms?: components["schemas"]["Alarms"];
                    /** @default null */
                    readonly ping?: {
                        /**
                         * @description It is never shown again.
                         * @example https://hc-ping.com/…
                         */
                        readonly url: string;
                        /**
                         * @description Whether `/start` is asked for when a run begins.
                         * @default false
                         */
                        readonly start?: boolean;
                        /**
                         * @description Whether `/fail` is asked for when a run has failed.
                         * @default false
                         */
                        readonly fail?: boolean;
                    } | null;
                    /**
                     * @description Whether every archive is restored and compared before its run counts as succeeded; only for exports.
                     * @default false
                     */
                    readonly verify?: boolean;
                    /** @default true */
                    readonly enabled?: boolean;
                    /** @constant */
                    readonly kind: "transfer";
                    readonly request: {
                        /** @description A project of this server, or of another one. */
                        readonly source: {
                            readonly project: components["schemas"]["Slug"];
                        } | {
                            /** @description `wharf://<project>:<TOKEN>@<host>[:port]` */
                            readonly dsn: string;
                        };
                        /** @description A project of this server, or of another one. */
                        readonly target: {
                            readonly project: components["schemas"]["Slug"];
                        } | {
                            /** @description `wharf://<project>:<TOKEN>@<host>[:port]` */
                            readonly dsn: string;
                        };
                        /** @default false */
                        readonly system?: boolean;
                        /** @description Only these stages; all if missing. */
                        readonly stages?: readonly components["schemas"]["Slug"][];
                        readonly excludeTables?: readonly string[];
                        /** @description Whether the archive has the rights of other roles on the stages, which an import gives to those that exist at the target, in place of those that there are. Importing them needs `content.structure`. By default they are named, and left out. */
                        readonly grants?: boolean;
                        /** @description Whether rows may be missing that no archive can hold. By default that is refused. */
                        readonly allowIncomplete?: boolean;
                        /** @description As of an export, where the source is a project of this server, and as of an import, where the target is; another one decides by itself. */
                        readonly jobs?: number;
                        /** @description As of an export, wherever the source is. To another server, the archive is sent no faster than that, either. */
                        readonly maxBytesPerSecond?: number;
                    };
                };
            };
        };
        readonly responses: {
            /** @description The new schedule. */
            readonly 201: {
                headers: {
                    readonly "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description Path of the schedule. */
                    readonly location?: string;
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["ScheduleDetail"];
                };
            };
        };
    };
    readonly previewSchedule: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": {
                    /**
                     * @description Minute, hour, day of month, month, day of week; seconds may come first; or `@daily` and the like. An hour means the clocks of the time zone: a time that they skip runs at the first moment after it, a time that they show twice runs once.
                     * @example 30 2 * * *
                     * @example @daily
                     */
                    readonly cron: string;
                    /**
                     * @description An IANA name.
                     * @default UTC
                     * @example Europe/Berlin
                     */
                    readonly timezone?: string;
                };
            };
        };
        readonly responses: {
            /** @description The next times. */
            readonly 200: {
                headers: {
                    readonly "X-Request-Id": components["headers"]["X-Request-Id"];
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": {
                        /** @description The next five times at which a schedule with it would be due. */
                        readonly nextRuns: readonly string[];
                    };
                };
            };
        };
    };
    readonly previewKeep: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                readonly id: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": components["schemas"]["Keep"];
            };
        };
        readonly responses: {
            /** @description The archives of the schedule, and which would stay. */
            readonly 200: {
                headers: {
                    readonly "X-Request-Id": components["headers"]["X-Request-Id"];
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": {
                        /** @description Those that the schedule has, the newest first. */
                        readonly archives: readonly {
                            /** Format: uuid */
                            readonly jobId: string;
                            /** Format: date-time */
                            readonly finishedAt: string;
                            readonly provenAt: string | null;
                            readonly bytes: number;
                            /** @description Whether it would stay, if the rules counted now. */
                            readonly kept: boolean;
                        }[];
                    };
                };
            };
        };
    };
    readonly showSchedule: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                readonly id: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The schedule. */
            readonly 200: {
                headers: {
                    readonly "X-Request-Id": components["headers"]["X-Request-Id"];
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["ScheduleDetail"];
                };
            };
        };
    };
    readonly deleteSchedule: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                readonly id: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The schedule is gone. */
            readonly 204: {
                headers: {
                    readonly "X-Request-Id": components["headers"]["X-Request-Id"];
                    readonly [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    readonly changeSchedule: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                readonly id: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": {
                    readonly name?: string;
                    /**
                     * @description Minute, hour, day of month, month, day of week; seconds may come first; or `@daily` and the like. An hour means the clocks of the time zone: a time that they skip runs at the first moment after it, a time that they show twice runs once.
                     * @example 30 2 * * *
                     * @example @daily
                     */
                    readonly cron?: string;
                    /**
                     * @description An IANA name.
                     * @example Europe/Berlin
                     */
                    readonly timezone?: string;
                    /** @description The whole request, of the same kind. */
                    readonly request?: {
                        /** @default [] */
                        readonly projects?: readonly {
                            readonly slug: components["schemas"]["Slug"];
                            /**
                             * @description Whether the system section (roles and event log) is included.
                             * @default false
                             */
                            readonly system?: boolean;
                            /** @description Where an import of the archive goes, instead of to `slug`. */
                            readonly targetSlug?: components["schemas"]["Slug"];
                            /** @description Only these stages; all where it is missing. */
                            readonly stages?: readonly components["schemas"]["Slug"][];
                            /** @description Tables whose structure and rows are left out. */
                            readonly excludeTables?: readonly string[];
                            /** @description Whether the archive has the rights of other roles on the stages, which an import gives to those that exist at the target, in place of those that there are. Importing them needs `content.structure`. By default they are named, and left out. */
                            readonly grants?: boolean;
                        }[];
                        /** @description Stand, at each run, for all projects whose slugs match and which the token may export. If it is the root token, the run looks at attached servers before, and attaches what is new. */
                        readonly patterns?: readonly {
                            /**
                             * @description `*` stands for any characters of a slug, `?` for a single one.
                             * @example shop-*
                             */
                            readonly pattern: string & (unknown & unknown);
                            /**
                             * @description Whether the system section (roles and event log) is included.
                             * @default false
                             */
                            readonly system?: boolean;
                            /** @description Only these stages; all where it is missing. */
                            readonly stages?: readonly components["schemas"]["Slug"][];
                            /** @description Tables whose structure and rows are left out. */
                            readonly excludeTables?: readonly string[];
                            /** @description Whether the archive has the rights of other roles on the stages, which an import gives to those that exist at the target, in place of those that there are. Importing them needs `content.structure`. By default they are named, and left out. */
                            readonly grants?: boolean;
                        }[];
                        /** @description Whether rows may be missing that no archive can hold. By default that is refused. */
                        readonly allowIncomplete?: boolean;
                        /** @description How many sessions read one database side by side, at most. By default as many as the server has processors, up to 4; one with `maxBytesPerSecond`. Fewer do where connections are needed for others (`WHARF_HELPING_SESSIONS`), and for small databases. The archive is the same for any number, but for its first line. */
                        readonly jobs?: number;
                        /** @description How many bytes of the archive are made in a second, at most, before they are compressed: so that others who use the database are disturbed less. The export takes longer then, and its snapshot lasts longer. By default as many as can be. */
                        readonly maxBytesPerSecond?: number;
                        /**
                         * @description How the archive is compressed. zstd takes less room, where both servers run on a Node.js that has it (22.15 and newer). By default gzip, which is read everywhere; or what the headers ask for, where the archive is the answer.
                         * @enum {string}
                         */
                        readonly compression?: "gzip" | "zstd";
                    } | {
                        /** @description A project of this server, or of another one. */
                        readonly source: {
                            readonly project: components["schemas"]["Slug"];
                        } | {
                            /** @description `wharf://<project>:<TOKEN>@<host>[:port]` */
                            readonly dsn: string;
                        };
                        /** @description A project of this server, or of another one. */
                        readonly target: {
                            readonly project: components["schemas"]["Slug"];
                        } | {
                            /** @description `wharf://<project>:<TOKEN>@<host>[:port]` */
                            readonly dsn: string;
                        };
                        /** @default false */
                        readonly system?: boolean;
                        /** @description Only these stages; all if missing. */
                        readonly stages?: readonly components["schemas"]["Slug"][];
                        readonly excludeTables?: readonly string[];
                        /** @description Whether the archive has the rights of other roles on the stages, which an import gives to those that exist at the target, in place of those that there are. Importing them needs `content.structure`. By default they are named, and left out. */
                        readonly grants?: boolean;
                        /** @description Whether rows may be missing that no archive can hold. By default that is refused. */
                        readonly allowIncomplete?: boolean;
                        /** @description As of an export, where the source is a project of this server, and as of an import, where the target is; another one decides by itself. */
                        readonly jobs?: number;
                        /** @description As of an export, wherever the source is. To another server, the archive is sent no faster than that, either. */
                        readonly maxBytesPerSecond?: number;
                    };
                    /** @description Replaces both rules. */
                    readonly keep?: components["schemas"]["Keep"];
                    /** @description Replaces both. */
                    readonly alarms?: components["schemas"]["Alarms"];
                    /** @description Replaces the one that there is; null takes it away. */
                    readonly ping?: {
                        /**
                         * @description It is never shown again.
                         * @example https://hc-ping.com/…
                         */
                        readonly url: string;
                        /**
                         * @description Whether `/start` is asked for when a run begins.
                         * @default false
                         */
                        readonly start?: boolean;
                        /**
                         * @description Whether `/fail` is asked for when a run has failed.
                         * @default false
                         */
                        readonly fail?: boolean;
                    } | null;
                    /** @description Whether every archive is restored and compared before its run counts as succeeded; only for exports. */
                    readonly verify?: boolean;
                    readonly enabled?: boolean;
                };
            };
        };
        readonly responses: {
            /** @description The schedule as it is now. */
            readonly 200: {
                headers: {
                    readonly "X-Request-Id": components["headers"]["X-Request-Id"];
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["ScheduleDetail"];
                };
            };
        };
    };
    readonly runSchedule: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                readonly id: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The job, which goes on by itself. */
            readonly 202: {
                headers: {
                    readonly "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description Path of the job. */
                    readonly location?: string;
                    /** @description How many seconds to wait before asking about the job. */
                    readonly "retry-after"?: string;
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Job"];
                };
            };
        };
    };
    readonly listWebhooks: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description All of them. */
            readonly 200: {
                headers: {
                    readonly "X-Request-Id": components["headers"]["X-Request-Id"];
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": {
                        readonly items: readonly components["schemas"]["Webhook"][];
                        /** @description `after` of the next page; null on the last one. */
                        readonly next: string | null;
                    };
                };
            };
        };
    };
    readonly createWebhook: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": {
                    readonly name: string;
                    /**
                     * @description `standard` is signed JSON, by the Standard Webhooks specification; the others are texts.
                     * @default standard
                     * @enum {string}
                     */
                    readonly kind?: "standard" | "slack" | "discord" | "teams" | "telegram" | "ntfy" | "mail";
                    /**
                     * @description Where requests are sent; `https` or `http`. It is never shown again. Of a Telegram bot, that of `sendMessage` with `chat_id`; of ntfy, that of the topic; of mail, `mailto:` and addresses with commas between them.
                     * @example https://example.org/hooks/wharf
                     */
                    readonly url: string;
                    /**
                     * @description Only these; none means all. `job.failed` includes `proof.failed`.
                     * @default []
                     */
                    readonly events?: readonly ("job.succeeded" | "job.failed" | "job.cancelled" | "proof.failed" | "schedule.missed" | "archive.overdue" | "archive.shrunk")[];
                    /**
                     * @description Only of jobs of these kinds; none means all.
                     * @default []
                     */
                    readonly jobKinds?: readonly ("export" | "import" | "transfer")[];
                    /**
                     * @description Only what is about one of these projects: slugs, or patterns with `*` or `?`; none means all.
                     * @default []
                     * @example [
                     *       "shop-*"
                     *     ]
                     */
                    readonly projects?: readonly (string | (string & (unknown & unknown)))[];
                    /**
                     * @description Only runs of these schedules; none means all.
                     * @default []
                     */
                    readonly schedules?: readonly string[];
                };
            };
        };
        readonly responses: {
            /** @description The new webhook. */
            readonly 201: {
                headers: {
                    readonly "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description Path of the webhook. */
                    readonly location?: string;
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["NewWebhook"];
                };
            };
        };
    };
    readonly showWebhook: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                readonly id: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The webhook. */
            readonly 200: {
                headers: {
                    readonly "X-Request-Id": components["headers"]["X-Request-Id"];
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Webhook"];
                };
            };
        };
    };
    readonly deleteWebhook: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                readonly id: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The webhook is gone, and nothing more is sent there. */
            readonly 204: {
                headers: {
                    readonly "X-Request-Id": components["headers"]["X-Request-Id"];
                    readonly [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    readonly changeWebhook: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                readonly id: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": {
                    readonly name?: string;
                    /**
                     * @description Where requests are sent; `https` or `http`. It is never shown again. Of a Telegram bot, that of `sendMessage` with `chat_id`; of ntfy, that of the topic; of mail, `mailto:` and addresses with commas between them.
                     * @example https://example.org/hooks/wharf
                     */
                    readonly url?: string;
                    /** @description Only these; none means all. `job.failed` includes `proof.failed`. */
                    readonly events?: readonly ("job.succeeded" | "job.failed" | "job.cancelled" | "proof.failed" | "schedule.missed" | "archive.overdue" | "archive.shrunk")[];
                    /** @description Only of jobs of these kinds; none means all. */
                    readonly jobKinds?: readonly ("export" | "import" | "transfer")[];
                    /**
                     * @description Only what is about one of these projects: slugs, or patterns with `*` or `?`; none means all.
                     * @example [
                     *       "shop-*"
                     *     ]
                     */
                    readonly projects?: readonly (string | (string & (unknown & unknown)))[];
                    /** @description Only runs of these schedules; none means all. */
                    readonly schedules?: readonly string[];
                    /** @description `true` also where Wharf has disabled it. */
                    readonly enabled?: boolean;
                };
            };
        };
        readonly responses: {
            /** @description The webhook as it is now. */
            readonly 200: {
                headers: {
                    readonly "X-Request-Id": components["headers"]["X-Request-Id"];
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Webhook"];
                };
            };
        };
    };
    readonly rotateWebhookSecret: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                readonly id: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The webhook, with its new secret. */
            readonly 200: {
                headers: {
                    readonly "X-Request-Id": components["headers"]["X-Request-Id"];
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["NewWebhook"];
                };
            };
        };
    };
    readonly testWebhook: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                readonly id: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description What is going to be sent; its delivery says what became of it. */
            readonly 202: {
                headers: {
                    readonly "X-Request-Id": components["headers"]["X-Request-Id"];
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Delivery"];
                };
            };
        };
    };
    readonly listDeliveries: {
        readonly parameters: {
            readonly query?: {
                /** @description How many to answer at most. */
                readonly limit?: number;
                readonly after?: string;
                readonly status?: "waiting" | "sent" | "failed";
            };
            readonly header?: never;
            readonly path: {
                readonly id: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description A page of deliveries. */
            readonly 200: {
                headers: {
                    readonly "X-Request-Id": components["headers"]["X-Request-Id"];
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": {
                        readonly items: readonly components["schemas"]["Delivery"][];
                        /** @description `after` of the next page; null on the last one. */
                        readonly next: string | null;
                    };
                };
            };
        };
    };
    readonly showDelivery: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                readonly id: string;
                readonly delivery: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The delivery. */
            readonly 200: {
                headers: {
                    readonly "X-Request-Id": components["headers"]["X-Request-Id"];
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Delivery"];
                };
            };
        };
    };
    readonly resendDelivery: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                readonly id: string;
                readonly delivery: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The delivery, which waits again. */
            readonly 202: {
                headers: {
                    readonly "X-Request-Id": components["headers"]["X-Request-Id"];
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Delivery"];
                };
            };
        };
    };
    readonly listJobs: {
        readonly parameters: {
            readonly query?: {
                /** @description How many to answer at most. */
                readonly limit?: number;
                readonly after?: string;
                readonly status?: "queued" | "running" | "succeeded" | "failed" | "cancelled";
                readonly kind?: "export" | "import" | "transfer";
                readonly project?: components["schemas"]["Slug"];
                readonly schedule?: string;
            };
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description A page of jobs. */
            readonly 200: {
                headers: {
                    readonly "X-Request-Id": components["headers"]["X-Request-Id"];
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": {
                        readonly items: readonly components["schemas"]["Job"][];
                        /** @description `after` of the next page; null on the last one. */
                        readonly next: string | null;
                    };
                };
            };
        };
    };
    readonly showJob: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: {
                readonly prefer?: string;
            };
            readonly path: {
                readonly id: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The job. */
            readonly 200: {
                headers: {
                    readonly "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description How many seconds to wait before asking again; missing once the job has ended. */
                    readonly "retry-after"?: string;
                    /** @description `wait=N`, where it was asked for. */
                    readonly "preference-applied"?: string;
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Job"];
                };
            };
        };
    };
    readonly deleteJob: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                readonly id: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The job is gone. */
            readonly 204: {
                headers: {
                    readonly "X-Request-Id": components["headers"]["X-Request-Id"];
                    readonly [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    readonly watchJobs: {
        readonly parameters: {
            readonly query?: {
                /** @description How many to answer at most. */
                readonly limit?: number;
                readonly after?: string;
                readonly status?: "queued" | "running" | "succeeded" | "failed" | "cancelled";
                readonly kind?: "export" | "import" | "transfer";
                readonly project?: components["schemas"]["Slug"];
                readonly schedule?: string;
            };
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The events. */
            readonly 200: {
                headers: {
                    readonly "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description `no`, so that proxies pass on each event at once. */
                    readonly "x-accel-buffering"?: string;
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "text/event-stream": string;
                };
            };
        };
    };
    readonly watchJob: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                readonly id: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The events. They end with the job. */
            readonly 200: {
                headers: {
                    readonly "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description `no`, so that proxies pass on each event at once. */
                    readonly "x-accel-buffering"?: string;
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "text/event-stream": string;
                };
            };
        };
    };
    readonly cancelJob: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                readonly id: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The job, which ends or has ended. */
            readonly 202: {
                headers: {
                    readonly "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description How many seconds to wait before asking again; missing once the job has ended. */
                    readonly "retry-after"?: string;
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Job"];
                };
            };
        };
    };
    readonly downloadJobFile: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: {
                readonly range?: string;
                readonly "if-range"?: string;
                readonly "if-none-match"?: string;
                readonly prefer?: string;
            };
            readonly path: {
                readonly id: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The archive. */
            readonly 200: {
                headers: {
                    readonly "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description Always `bytes`. */
                    readonly "accept-ranges"?: string;
                    /** @description How many bytes follow. */
                    readonly "content-length"?: string;
                    /** @description A name for the file. */
                    readonly "content-disposition"?: string;
                    /** @description The SHA-256 of the archive, in hexadecimal digits: for `If-Range` and `If-None-Match`. */
                    readonly etag?: string;
                    /** @description The SHA-256 of the whole archive, also where a part of it is sent (RFC 9530). */
                    readonly "repr-digest"?: string;
                    /** @description Always `private, no-cache`: it may be cached, but each request is authorised. */
                    readonly "cache-control"?: string;
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/gzip": string;
                    readonly "application/zstd": string;
                };
            };
            /** @description The part of the archive that was asked for. */
            readonly 206: {
                headers: {
                    readonly "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description Always `bytes`. */
                    readonly "accept-ranges"?: string;
                    /** @description How many bytes follow. */
                    readonly "content-length"?: string;
                    /** @description A name for the file. */
                    readonly "content-disposition"?: string;
                    /** @description The SHA-256 of the archive, in hexadecimal digits: for `If-Range` and `If-None-Match`. */
                    readonly etag?: string;
                    /** @description The SHA-256 of the whole archive, also where a part of it is sent (RFC 9530). */
                    readonly "repr-digest"?: string;
                    /** @description Always `private, no-cache`: it may be cached, but each request is authorised. */
                    readonly "cache-control"?: string;
                    /** @description Which bytes these are, and how many there are. */
                    readonly "content-range"?: string;
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/gzip": string;
                    readonly "application/zstd": string;
                };
            };
            /** @description The client has the archive already. */
            readonly 304: {
                headers: {
                    readonly "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description The SHA-256 of the archive, in hexadecimal digits: for `If-Range` and `If-None-Match`. */
                    readonly etag?: string;
                    /** @description Always `private, no-cache`: it may be cached, but each request is authorised. */
                    readonly "cache-control"?: string;
                    readonly [name: string]: unknown;
                };
                content?: never;
            };
            /** @description The archive is there: a URL of its storage, which is a secret, and begins to answer within five minutes. */
            readonly 307: {
                headers: {
                    readonly "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description Where to read the archive, or the range of it. */
                    readonly location?: string;
                    /** @description The SHA-256 of the archive, in hexadecimal digits: for `If-Range` and `If-None-Match`. */
                    readonly etag?: string;
                    /** @description The SHA-256 of the whole archive, also where a part of it is sent (RFC 9530). */
                    readonly "repr-digest"?: string;
                    /** @description Always `no-store`. */
                    readonly "cache-control"?: string;
                    readonly [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    readonly importJobFile: {
        readonly parameters: {
            readonly query?: {
                /** @description Where the data goes, for one project. */
                readonly targetSlug?: components["schemas"]["Slug"];
                /** @description Imports this project of the archive, and none of the others, of which nothing is checked. Faults count the lines of this project alone, as if the others had none. */
                readonly project?: components["schemas"]["Slug"];
                /** @description Does all the checks, and answers with what would happen. */
                readonly dryRun?: boolean;
                /** @description Accepts an archive whose rows were edited: counts and sums may disagree. */
                readonly allowEdited?: boolean;
                /** @description Accepts an archive that lacks rows of what it was made from. By default that is refused. */
                readonly allowIncomplete?: boolean;
                /** @description How many sessions load one stage side by side, at most. By default one more than the server has processors, up to 4. One does where connections are needed for others (`WHARF_HELPING_SESSIONS`), for small archives, in a database of your own, and where the order of the tables can matter. The rows are the same for any number. */
                readonly jobs?: number;
            };
            readonly header?: {
                /** @description `respond-async` asks for a job instead of the result. */
                readonly prefer?: string;
                /** @description The same key within 24 hours gives the same job, however often the request is sent. */
                readonly "idempotency-key"?: string;
            };
            readonly path: {
                readonly id: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The archive has been imported; or could be, where `dryRun` was asked for. */
            readonly 200: {
                headers: {
                    readonly "X-Request-Id": components["headers"]["X-Request-Id"];
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": {
                        /** @constant */
                        readonly ok: true;
                        readonly dryRun: boolean;
                        readonly projects: readonly {
                            /** @description Where the data came from. */
                            readonly slug: components["schemas"]["Slug"];
                            /** @description Where it went. */
                            readonly targetSlug: components["schemas"]["Slug"];
                            /** @description How many roles of the archive replaced those of the target, as the event log did; null where the archive has no system section, which leaves both as they are. */
                            readonly roles: number | null;
                            /** @description How the roles of the target differ from those of the archive. An import gives and takes only permissions that its caller has in the target, and leaves the role `public` alone; the root token may do all. */
                            readonly rolesLeftOut: readonly {
                                readonly role: string;
                                /** @description Permissions that the role has in the archive, and does not get. */
                                readonly notGiven: readonly ("content.read" | "content.write" | "content.export" | "content.import" | "content.structure" | "system.export" | "system.import")[];
                                /** @description Permissions that the role has in the target and not in the archive, and keeps. */
                                readonly notTaken: readonly ("content.read" | "content.write" | "content.export" | "content.import" | "content.structure" | "system.export" | "system.import")[];
                            }[];
                            readonly stages: readonly ({
                                readonly slug: components["schemas"]["Slug"];
                                readonly tables: number;
                                readonly rows: number;
                                /** @description Whether what is replaced is kept, so that `undo` can bring it back. It is not where the stage is loaded in place, or where the operator has turned that off. */
                                readonly undoable: boolean;
                                /** @description Rights and policies of the archive that the stage does not get, for instance since their role does not exist there. */
                                readonly leftOut: readonly {
                                    /** @enum {string} */
                                    readonly kind: "grant" | "policy";
                                    readonly name: string;
                                    readonly detail: string;
                                }[];
                                /** @description What keeps its rows in a stage that is loaded in place, since no archive can hold them: for instance partitions in another schema. */
                                readonly notReplaced: readonly {
                                    readonly kind: string;
                                    readonly name: string;
                                    readonly detail?: string;
                                }[];
                                /**
                                 * Format: date-time
                                 * @description In the result of a job: when that was undone. Missing where it was not, or is put back.
                                 */
                                readonly undoneAt?: string;
                            } | {
                                readonly slug: components["schemas"]["Slug"];
                                /**
                                 * @description `build`: the stage is empty and would be built from the archive. `swap`: the rows would be loaded beside, and then replace the existing ones. `in place`: the stage has things that an archive does not describe, so its tables would be emptied and loaded where they are.
                                 * @enum {string}
                                 */
                                readonly mode: "build" | "swap" | "in place";
                                /** @description Why it would be loaded in place: what depends on it elsewhere, for instance. */
                                readonly reasonsInPlace: readonly string[];
                                /** @description Whether what is replaced is kept, so that `undo` can bring it back. It is not where the stage is loaded in place, or where the operator has turned that off. */
                                readonly undoable: boolean;
                                /** @description For how many hours what would be replaced is kept; 0 where it is not. */
                                readonly undoHours: number;
                                /** @description Rights and policies of the archive that the stage does not get, for instance since their role does not exist there. */
                                readonly leftOut: readonly {
                                    /** @enum {string} */
                                    readonly kind: "grant" | "policy";
                                    readonly name: string;
                                    readonly detail: string;
                                }[];
                                /** @description What keeps its rows in a stage that is loaded in place, since no archive can hold them: for instance partitions in another schema. */
                                readonly notReplaced: readonly {
                                    readonly kind: string;
                                    readonly name: string;
                                    readonly detail?: string;
                                }[];
                                readonly tables: readonly {
                                    readonly name: string;
                                    /** @description As the project's own login sees them; null where the table would be created. */
                                    readonly rowsNow: number | null;
                                    readonly rowsAfter: number;
                                }[];
                                /** @description Those that a stage which is built from the archive needs. */
                                readonly extensions: readonly {
                                    readonly name: string;
                                    /** @description Where the archive was made. Another one is no reason to refuse it. */
                                    readonly version: string;
                                    /** @description null where it would be made, for all projects. */
                                    readonly versionNow: string | null;
                                }[];
                            })[];
                        }[];
                        /** @description Whether the archive has all that its stages had, but for tables that were excluded; null where that is not known, since an earlier version wrote it. */
                        readonly complete: boolean | null;
                        readonly notExported: readonly {
                            /** @description Its slug, where the archive has several projects. */
                            readonly project?: string;
                            readonly stage: string;
                            readonly kind: string;
                            readonly name: string;
                            readonly detail?: string;
                            /** @description `true` where rows are missing for lack of it. */
                            readonly rows?: boolean;
                        }[];
                    };
                };
            };
            /** @description The job, which goes on by itself. */
            readonly 202: {
                headers: {
                    readonly "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description Path of the job. */
                    readonly location?: string;
                    /** @description `respond-async`, where it was asked for. */
                    readonly "preference-applied"?: string;
                    /** @description How many seconds to wait before asking about the job. */
                    readonly "retry-after"?: string;
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Job"];
                };
            };
        };
    };
    readonly getHealth: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: {
                readonly "wharf-challenge"?: string;
            };
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The process is alive. */
            readonly 200: {
                headers: {
                    readonly "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description On a connection over loopback, to a `Wharf-Challenge` of 32 random bytes in base64url: what only a server of this data folder can answer. The command line asks for it before it sends a token. */
                    readonly "wharf-proof"?: string;
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": {
                        /** @constant */
                        readonly status: "ok";
                    };
                };
            };
        };
    };
    readonly getReadiness: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The service is ready, for jobs too where `unavailable` is empty. */
            readonly 200: {
                headers: {
                    readonly "X-Request-Id": components["headers"]["X-Request-Id"];
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": {
                        /** @constant */
                        readonly status: "ready";
                        /** @description What only jobs depend on, such as `queue`, and does not answer. All else works without it. */
                        readonly unavailable: readonly string[];
                    };
                };
            };
        };
    };
    readonly getMetrics: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The figures, in the text format. */
            readonly 200: {
                headers: {
                    readonly "X-Request-Id": components["headers"]["X-Request-Id"];
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "text/plain": string;
                };
            };
        };
    };
    readonly getOpenApi: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The document. */
            readonly 200: {
                headers: {
                    readonly "X-Request-Id": components["headers"]["X-Request-Id"];
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": {
                        readonly openapi: string;
                    } & {
                        readonly [key: string]: unknown;
                    };
                };
            };
        };
    };
    readonly getDocs: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: {
                readonly "accept-encoding"?: string;
                readonly "if-none-match"?: string;
            };
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The page. */
            readonly 200: {
                headers: {
                    readonly "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description `gzip` where the client accepts it. */
                    readonly "content-encoding"?: string;
                    /** @description The headers of the request that the answer depends on. */
                    readonly vary?: string;
                    /** @description Of these bytes. */
                    readonly etag?: string;
                    /** @description How long they may be kept. */
                    readonly "cache-control"?: string;
                    /** @description Allows the files of this server, and nothing else. */
                    readonly "content-security-policy"?: string;
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "text/html": string;
                };
            };
            /** @description The page that the client has is this one. */
            readonly 304: {
                headers: {
                    readonly "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description `gzip` where the client accepts it. */
                    readonly "content-encoding"?: string;
                    /** @description The headers of the request that the answer depends on. */
                    readonly vary?: string;
                    /** @description Of these bytes. */
                    readonly etag?: string;
                    /** @description How long they may be kept. */
                    readonly "cache-control"?: string;
                    /** @description Allows the files of this server, and nothing else. */
                    readonly "content-security-policy"?: string;
                    readonly [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
}
