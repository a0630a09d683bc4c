-- Statements for SQLite and PostgreSQL. Each begins after a line with its name.

-- name: feedback
SELECT f."forId", f."threadId", f."value", f."comment", f."createdAt", t."userIdentifier"
FROM feedbacks f JOIN threads t ON t."id" = f."threadId" ORDER BY f."createdAt", f."id"

-- name: answers
SELECT e."props" FROM elements e JOIN steps s ON s."id" = e."forId"
WHERE e."threadId" = :thread AND :rated IN (s."id", s."parentId")

-- name: questions
SELECT substr(s."createdAt", 1, 10) AS day, count(*) AS questions,
count(DISTINCT t."userIdentifier") AS users, count(DISTINCT s."threadId") AS conversations
FROM steps s JOIN threads t ON t."id" = s."threadId" WHERE s."type" = 'user_message' AND s."createdAt" >= :since
GROUP BY 1 ORDER BY 1

-- name: ratings
SELECT substr("createdAt", 1, 10) AS day, sum("value") AS helpful, count(*) AS rated
FROM feedbacks WHERE "createdAt" >= :since GROUP BY 1
