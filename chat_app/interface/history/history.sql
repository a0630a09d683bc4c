-- Statements for SQLite and PostgreSQL. Each begins after a line with its name.

-- name: steps
-- Steps of the same millisecond follow what contains them: the page drops a step that comes before its parent.
SELECT s.*, f."id" AS feedback_id, f."value" AS feedback_value, f."comment" AS feedback_comment
FROM steps s LEFT JOIN feedbacks f ON f."forId" = s."id"
WHERE s."threadId" = :id ORDER BY s."createdAt", CASE s."type" WHEN 'user_message' THEN 1
WHEN 'run' THEN 2 WHEN 'llm' THEN 3 WHEN 'tool' THEN 4 WHEN 'undefined' THEN 5 ELSE 6 END

-- name: value_of_metadata
SELECT "id", "metadata" AS value FROM threads WHERE "id" IN :ids

-- name: value_of_thread
SELECT "id", "userIdentifier" AS value FROM threads WHERE "id" IN :ids

-- name: value_of_step
SELECT r."id", t."userIdentifier" AS value FROM steps r JOIN threads t ON t."id" = r."threadId" WHERE r."id" IN :ids

-- name: value_of_element
SELECT r."id", t."userIdentifier" AS value FROM elements r JOIN threads t ON t."id" = r."threadId" WHERE r."id" IN :ids

-- name: value_of_feedback
SELECT r."id", t."userIdentifier" AS value FROM feedbacks r JOIN threads t ON t."id" = r."threadId" WHERE r."id" IN :ids

-- name: found
-- The first message with the words, or null. A question does not count where the name, which is mostly that question,
-- has the words.
(SELECT s."output" FROM steps s WHERE s."threadId" = t."id"
AND s."type" IN ('user_message', 'assistant_message', 'llm')
AND LOWER(COALESCE(s."output", '')) LIKE :search ESCAPE '!'
AND (s."type" != 'user_message' OR LOWER(COALESCE(t."name", '')) NOT LIKE :search ESCAPE '!')
ORDER BY s."createdAt" LIMIT 1)

-- name: after_cursor
(t."updatedAt", t."id") < (SELECT c."updatedAt", c."id" FROM threads c WHERE c."id" = :cursor)

-- name: newest_first
ORDER BY t."updatedAt" DESC, t."id" DESC LIMIT :limit

-- name: delete_thread
DELETE FROM feedbacks WHERE "threadId" = :id;
DELETE FROM elements WHERE "threadId" = :id;
DELETE FROM steps WHERE "threadId" = :id;
DELETE FROM threads WHERE "id" = :id

-- name: delete_step
DELETE FROM feedbacks WHERE "forId" = :id;
DELETE FROM elements WHERE "forId" = :id;
DELETE FROM steps WHERE "id" = :id

-- name: upsert_feedback
INSERT INTO feedbacks ("id", "forId", "threadId", "value", "comment", "createdAt")
VALUES (:id, :for, :thread, :value, :comment, :at)
ON CONFLICT ("forId") DO UPDATE SET "value" = :value, "comment" = :comment RETURNING "id"

-- name: add_user
INSERT INTO users ("id", "identifier", "metadata", "createdAt") VALUES (:id, :owner, '{}', :at)
ON CONFLICT ("identifier") DO NOTHING

-- name: upsert_thread
-- An owner never changes, so that nobody can take over a thread by naming it; who claims it as owner changes nothing
-- of another user's. {merged} is one of the two below.
INSERT INTO threads ("id", "createdAt", "updatedAt", "name", "userId", "userIdentifier", "tags", "metadata")
VALUES (:id, :now, :now, COALESCE(:name, :title),
    COALESCE(:user, (SELECT "id" FROM users WHERE "identifier" = :owner)),
    COALESCE(:owner, (SELECT "identifier" FROM users WHERE "id" = :user)), :tags, :metadata)
ON CONFLICT ("id") DO UPDATE SET "updatedAt" = :now,
    "name" = COALESCE(:name, threads."name", :title), "userId" = COALESCE(threads."userId", EXCLUDED."userId"),
    "userIdentifier" = COALESCE(threads."userIdentifier", EXCLUDED."userIdentifier"),
    "tags" = COALESCE(:tags, threads."tags"), "metadata" = {merged}
WHERE :owner IS NULL OR COALESCE(threads."userIdentifier", :owner) = :owner

-- name: merged_sqlite
-- In the statement itself: two writers that read first would lose one another's keys. A null takes its key away.
json_patch(COALESCE(threads."metadata", '{}'), :patch)

-- name: merged_postgresql
CAST(jsonb_strip_nulls(CAST(COALESCE(threads."metadata", '{}') AS jsonb) || CAST(:patch AS jsonb)) AS text)
